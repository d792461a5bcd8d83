package server

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"millrace/functions/readkafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// secrets are what secret('scope', 'key') reads: the variable MILLRACE_SECRET_SCOPE_KEY of the server, else the file scope/key below --secrets-dir. A
// user needs USAGE on the scope.
type secrets struct {
	users *mysql_db.MySQLDb
	// dir is --secrets-dir, empty for none.
	dir string
}

// A scope holds no underscore, so that no two scopes can mean the same variable: the privilege is by scope. Both ignore case.
var (
	secretScope = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)
	secretKey   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
)

// maxSecretBytes bounds a file.
const maxSecretBytes = 1 << 20

// reveal gives a secret to a statement of ctx.
func (s *secrets) reveal(ctx *sql.Context, scope, key string) (string, error) {
	if !secretScope.MatchString(scope) {
		return "", sqlerr.New(sqlerr.OptionInvalid, "'%s' is no scope of secrets: those have 1 to 64 letters and digits", option.Show(scope))
	}
	if !secretKey.MatchString(key) {
		return "", sqlerr.New(sqlerr.OptionInvalid, "'%s' is no key of a secret: those have letters, digits, dots, underscores and dashes", option.Show(key))
	}
	scope = strings.ToLower(scope)
	if !s.users.UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(readkafka.UsagePrivilege("secret", scope))) {
		return "", sqlerr.New(sqlerr.NotGranted, "you may not use the secrets of scope '%s'", scope).
			WithHint("it needs a grant: GRANT USAGE ON SECRET %s TO '%s'", scope, ctx.Session.Client().User)
	}
	variable := "MILLRACE_SECRET_" + strings.ToUpper(scope+"_"+strings.NewReplacer(".", "_", "-", "_").Replace(key))
	if value, ok := os.LookupEnv(variable); ok {
		return value, nil
	}
	if s.dir != "" {
		value, err := s.file(scope, key)
		if !errors.Is(err, fs.ErrNotExist) {
			return value, err
		}
	}
	return "", sqlerr.New(sqlerr.NoConnection, "secret '%s' of scope '%s' does not exist", key, scope).
		WithHint("it is the variable %s of the server, or the file %s below --secrets-dir", variable, path.Join(scope, key))
}

// file reads a secret from its file; the line break that editors add is no part of it.
func (s *secrets) file(scope, key string) (_ string, err error) {
	fault := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fs.ErrNotExist
		}
		// The paths of the server are none of the user's business.
		return sqlerr.New(sqlerr.OptionInvalid, "secret '%s' of scope '%s' cannot be read", key, scope).WithCause(err)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", fault(err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := path.Join(scope, key)
	info, err := root.Stat(name)
	if err != nil {
		return "", fault(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretBytes {
		return "", fault(errors.New("no regular file of a sensible size"))
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fault(err)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSecretBytes))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fault(err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}
