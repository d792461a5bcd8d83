// Package docs runs what the documentation shows: every ```sql block of README.md, ARCHITECTURE.md and docs/, on the demo's topics.
package docs
