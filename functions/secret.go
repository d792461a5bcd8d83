package functions

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/named"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Reveal gives the secret of a scope and key to a statement of ctx, or the error that its user may not use it or that there is none.
type Reveal func(ctx *sql.Context, scope, key string) (string, error)

// SecretFunction is secret(scope, key). Wherever it is evaluated it shows a mask; only where a table function takes a secret argument it is revealed.
func SecretFunction(reveal Reveal) sql.Function {
	return sql.FunctionN{Name: "secret", Fn: func(_ *sql.Context, args ...sql.Expression) (sql.Expression, error) {
		if len(args) != 2 {
			return nil, sqlerr.New(sqlerr.ArgumentCount, "wrong number of arguments for function 'secret': found %d", len(args)).WithHint("secret('scope', 'key')")
		}
		return &secret{args, reveal}, nil
	}}
}

// buildSecret is for an engine that has no secrets, such as that of the docs.
func buildSecret(_ *sql.Context, _ *Function, args []sql.Expression) (sql.Expression, error) {
	return &secret{args, func(*sql.Context, string, string) (string, error) {
		return "", sqlerr.New(sqlerr.NotSupported, "there are no secrets here")
	}}, nil
}

type secret struct {
	args   []sql.Expression
	reveal Reveal
}

var (
	_ sql.FunctionExpression = (*secret)(nil)
	_ sql.CollationCoercible = (*secret)(nil)
	_ named.Secret           = (*secret)(nil)
)

// Reveal implements named.Secret.
func (s *secret) Reveal(ctx *sql.Context) (string, error) {
	var names [2]string
	for i, a := range s.args {
		v, err := a.Eval(ctx, nil)
		if err == nil {
			v, err = sql.UnwrapAny(ctx, v)
		}
		if err != nil {
			return "", err
		}
		text, ok := v.(string)
		if !ok {
			return "", sqlerr.New(sqlerr.ArgumentValue, "scope and key of secret() are expected to be text")
		}
		names[i] = text
	}
	return s.reveal(ctx, names[0], names[1])
}

// Eval gives the mask, whoever asks and whether there is such a secret or not.
func (s *secret) Eval(*sql.Context, sql.Row) (any, error) { return option.Redacted, nil }

func (s *secret) FunctionName() string { return "secret" }

func (s *secret) Description() string { return "A secret of the server." }

func (s *secret) Resolved() bool { return expression.ExpressionsResolved(s.args...) }

func (s *secret) String() string {
	return "secret(" + s.args[0].String() + "," + s.args[1].String() + ")"
}

func (s *secret) Type(*sql.Context) sql.Type { return types.LongText }

func (s *secret) IsNullable(*sql.Context) bool { return false }

func (s *secret) Children() []sql.Expression { return s.args }

func (s *secret) WithChildren(_ *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) != len(s.args) {
		return nil, sql.ErrInvalidChildrenNumber.New(s, len(children), len(s.args))
	}
	return &secret{children, s.reveal}, nil
}

func (s *secret) CollationCoercibility(*sql.Context) (sql.CollationID, byte) {
	return sql.Collation_Default, 4
}
