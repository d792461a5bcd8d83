package executor

import "context"

// flight is a commit that goes on while the next batch is computed. At most one is under way, so commits keep their order, and positions advance as without it: what is computed meanwhile is
// committed when this one has landed, and dropped when it has failed. The owner starts flights and waits for each; what a commit touches of the table is the commit's until it has landed: all that is the owner's but
// rows, columns, checker, perRow and what the query asks for.
type flight struct {
	// failed ends what is computed meanwhile.
	failed context.CancelCauseFunc
	// landed has the outcome; it is nil when nothing is under way.
	landed chan error
}

// start lets a commit go on. The one before has landed.
func (f *flight) start(commit func() error) {
	landed := make(chan error, 1)
	f.landed = landed
	go func() {
		err := commit()
		if err != nil {
			f.failed(err)
		}
		landed <- err
	}()
}

// land waits for the commit that is under way, if there is one.
func (f *flight) land() error {
	if f.landed == nil {
		return nil
	}
	err := <-f.landed
	f.landed = nil
	return err
}
