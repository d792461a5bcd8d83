package readkafka

import (
	"strings"

	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// SelectionArguments name topics, for functions to which leaving them out means all topics.
func SelectionArguments() []option.Option {
	return []option.Option{
		{Name: "subscribe", Aliases: []string{"topic", "topics"}, Type: option.List, DefaultNote: "all topics",
			Doc: "The topics to describe, which must exist.", Example: "'orders,payments'"},
		{Name: "subscribePattern", Aliases: []string{"topicPattern"}, Type: option.String, DefaultNote: "all topics",
			Doc: "A regular expression (RE2) that the whole name of a topic must match.", Example: "'orders-.*'"},
	}
}

// BindSelection binds SelectionArguments. The zero Selection is all topics.
func BindSelection(v *option.Values) (kafka.Selection, error) {
	var s kafka.Selection
	if v.Has("subscribe") && v.Has("subscribePattern") {
		return s, sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", v.As("subscribe"), v.As("subscribePattern")).WithHint("keep one of them")
	}
	if v.Has("subscribe") {
		return bindTopics(v, s)
	}
	if v.Has("subscribePattern") {
		return bindPattern(v, s)
	}
	return s, nil
}

func bindTopics(v *option.Values, s kafka.Selection) (kafka.Selection, error) {
	for _, topic := range v.List("subscribe") {
		if err := CheckTopic(topic); err != nil {
			return s, v.Invalid("subscribe", "is wrong: %w", err)
		}
	}
	s.Topics = unique(v.List("subscribe"))
	return s, nil
}

func bindPattern(v *option.Values, s kafka.Selection) (kafka.Selection, error) {
	const way = "subscribePattern"
	re, err := compilePattern(strings.TrimSpace(v.String(way)))
	if err != nil {
		return s, sqlerr.New(sqlerr.OptionInvalid, "'%s' %w", v.As(way), err).WithHint("patterns are RE2 expressions that the whole name must match; see docs/options.md")
	}
	s.Pattern = re
	return s, nil
}
