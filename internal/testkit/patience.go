package testkit

import "time"

// Patience is how long a test waits for a state that must come before it says that it does not: far longer than it takes, since the machine may be busy with others.
const Patience = 3 * time.Minute
