package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	vmysql "github.com/dolthub/vitess/go/mysql"
	goerrors "gopkg.in/src-d/go-errors.v1"

	"millrace/internal/sqlerr"
)

// This file is the one place where errors of the engine become errors with a MySQL number and SQLSTATE.

// engineKinds: what the engine calls an error → what it is for a client. The engine itself numbers few of them, and these mostly HY000.
var engineKinds = []struct {
	engine *goerrors.Kind
	kind   *sqlerr.Kind
}{
	{sql.ErrSyntaxError, sqlerr.Syntax},
	{sql.ErrInvalidSyntax, sqlerr.Syntax},
	{sql.ErrDatabaseNotFound, sqlerr.NoDatabase},
	{sql.ErrNoDatabaseSelected, sqlerr.NoDatabaseSelected},
	{sql.ErrDatabaseExists, sqlerr.DatabaseExists},
	{sql.ErrTableNotFound, sqlerr.NoTable},
	{sql.ErrUnknownTable, sqlerr.UnknownTable},
	{sql.ErrTableAlreadyExists, sqlerr.TableExists},
	{sql.ErrExistingView, sqlerr.TableExists},
	{sql.ErrViewDoesNotExist, sqlerr.UnknownTable},
	{sql.ErrInvalidRefInView, sqlerr.BadView},
	{sql.ErrExpectedTableFoundView, sqlerr.NotAView},
	{sql.ErrColumnNotFound, sqlerr.NoColumn},
	{sql.ErrTableColumnNotFound, sqlerr.NoColumn},
	{sql.ErrUnknownColumn, sqlerr.NoColumn},
	{sql.ErrMisusedAlias, sqlerr.NoColumn},
	{sql.ErrAmbiguousColumnName, sqlerr.AmbiguousColumn},
	{sql.ErrAmbiguousColumnOrAliasName, sqlerr.AmbiguousColumn},
	{sql.ErrAmbiguousColumnInOrderBy, sqlerr.AmbiguousColumn},
	{sql.ErrColumnExists, sqlerr.ColumnExists},
	{sql.ErrDuplicateColumn, sqlerr.ColumnExists},
	{sql.ErrDuplicateAliasOrTable, sqlerr.NonUniqueTable},
	{sql.ErrPrimaryKeyViolation, sqlerr.DuplicateKey},
	{sql.ErrUniqueKeyViolation, sqlerr.DuplicateKey},
	{sql.ErrDuplicateEntry, sqlerr.DuplicateKey},
	{sql.ErrInsertIntoNonNullableProvidedNull, sqlerr.NotNull},
	{sql.ErrInsertIntoNonNullableDefaultNullColumn, sqlerr.NoDefault},
	{sql.ErrInsertIntoMismatchValueCount, sqlerr.ValueCount},
	{sql.ErrColValCountMismatch, sqlerr.ValueCount},
	{sql.ErrColumnNumberDoesNotMatch, sqlerr.ColumnCount},
	{sql.ErrColumnCountMismatch, sqlerr.ViewColumnCount},
	{sql.ErrInvalidOperandColumns, sqlerr.OperandColumns},
	{sql.ErrExpectedSingleRow, sqlerr.SubqueryRows},
	{sql.ErrMoreThanOneRow, sqlerr.SubqueryRows},
	{sql.ErrNonAggregatedColumnWithoutGroupBy, sqlerr.MixedGroup},
	{sql.ErrAggregationUnsupported, sqlerr.InvalidGroupUse},
	{sql.ErrWindowUnsupported, sqlerr.InvalidGroupUse},
	{sql.ErrTruncatedIncorrect, sqlerr.BadValue},
	{sql.ErrInvalidValue, sqlerr.BadColumnValue},
	{sql.ErrInvalidValueType, sqlerr.BadColumnValue},
	{sql.ErrValueOutOfRange, sqlerr.OutOfRange},
	{sql.ErrUnknownSystemVariable, sqlerr.UnknownVariable},
	{sql.ErrSystemVariableReadOnly, sqlerr.ReadOnlyVariable},
	{sql.ErrSystemVariableSessionOnly, sqlerr.ReadOnlyVariable},
	{sql.ErrSystemVariableGlobalOnly, sqlerr.ReadOnlyVariable},
	{sql.ErrInvalidSystemVariableValue, sqlerr.BadVariableValue},
	{sql.ErrInvalidTimeZone, sqlerr.UnknownTimeZone},
	{sql.ErrFunctionNotFound, sqlerr.NoFunction},
	{sql.ErrTableFunctionNotFound, sqlerr.NoFunction},
	{sql.ErrStoredProcedureDoesNotExist, sqlerr.NoFunction},
	{sql.ErrInvalidArgumentNumber, sqlerr.ArgumentCount},
	{sql.ErrCallIncorrectParameterCount, sqlerr.ArgumentCount},
	{sql.ErrInvalidArgument, sqlerr.ArgumentValue},
	{sql.ErrInvalidArgumentDetails, sqlerr.ArgumentValue},
	{sql.ErrInvalidArgumentType, sqlerr.ArgumentValue},
	{sql.ErrInvalidJSONText, sqlerr.BadJSON},
	{sql.ErrInvalidJson, sqlerr.BadJSON},
	{sql.ErrUnknownPreparedStatement, sqlerr.NoStatement},
	{sql.ErrDatabaseAccessDeniedForUser, sqlerr.DatabaseDenied},
	{sql.ErrTableAccessDeniedForUser, sqlerr.NotGranted},
	{sql.ErrPrivilegeCheckFailed, sqlerr.NotGranted},
	{sql.ErrUserCreationFailure, sqlerr.UserExists},
	{sql.ErrUserAlterFailure, sqlerr.UserExists},
	{sql.ErrUserDeletionFailure, sqlerr.UserExists},
	{sql.ErrRoleCreationFailure, sqlerr.UserExists},
	{sql.ErrRoleDeletionFailure, sqlerr.UserExists},
	{sql.ErrShowGrantsUserDoesNotExist, sqlerr.NoSuchGrant},
	{sql.ErrRevokeUserDoesNotExist, sqlerr.NoSuchGrant},
	{sql.ErrGrantUserDoesNotExist, sqlerr.NoGrantUser},
	{sql.ErrGrantRevokeIllegalPrivilege, sqlerr.IllegalGrant},
	{sql.ErrGrantRevokeIllegalPrivilegeWithMessage, sqlerr.IllegalGrant},
	{sql.ErrSecureFilePriv, sqlerr.FilesRefused},
	{sql.ErrLoadDataCannotOpen, sqlerr.FilesRefused},
	{sql.ErrForeignKeyChildViolation, sqlerr.ForeignKeyChild},
	{sql.ErrForeignKeyParentViolation, sqlerr.ForeignKeyParent},
	{sql.ErrCheckConstraintViolated, sqlerr.CheckViolated},
	{sql.ErrUnsupportedFeature, sqlerr.NotSupported},
	{sql.ErrAlterTableNotSupported, sqlerr.NotSupported},
	{sql.ErrTemporaryTableNotSupported, sqlerr.NotSupported},
	{sql.ErrUnsupportedSyntax, sqlerr.NotSupported},
	{sql.ErrUnsupportedPreparedStatement, sqlerr.NotSupported},
}

// untyped are errors that the engine makes without a kind, or with the text of its own parts: what they begin with → what a client sees.
// An empty message keeps the engine's.
var untyped = []struct {
	begins  string
	kind    *sqlerr.Kind
	message string
	hint    string
}{
	{"error: table is not primary key alterable", sqlerr.NotSupported, "ALTER TABLE with a PRIMARY KEY is not supported", alterHint},
	{"expected insert destination", sqlerr.NotAView, "the target of INSERT is not a table", "views are read only"},
	{"table doesn't support UPDATE", sqlerr.NotSupported, "UPDATE is not supported: rows of tables can be added, and all of them removed", "INSERT adds rows, TRUNCATE TABLE removes all; CREATE TABLE … AS SELECT makes a table of some of them; views are read only"},
	{"table doesn't support DELETE", sqlerr.NotSupported, "DELETE of some rows is not supported: rows of tables can be added, and all of them removed", "INSERT adds rows, TRUNCATE TABLE or DELETE without WHERE removes all; CREATE TABLE … AS SELECT makes a table of some of them; views are read only"},
	{"can only update statistics", sqlerr.NotAView, "ANALYZE TABLE takes tables, and what it names is a view or a function", ""},
	{"Unknown table ''", sqlerr.UnknownTable, "DROP TABLE names what is no table", "a view is dropped by DROP VIEW"},
	{"bind variable not provided", sqlerr.BadParameters, "EXECUTE gives fewer values than the statement has placeholders", "name a variable for each: EXECUTE s USING @a, @b"},
	{"invalid data type for JSON data", sqlerr.ArgumentValue, "", "bytes are no JSON text: use value::string, or a path such as value::string:field"},
	{"Incorrect datetime value", sqlerr.BadValue, "", "write a time as '2026-11-30 12:00:00' or '2026-11-30'"},
	{"no memory available", sqlerr.ScanMemory, "groups, distinct values or results of subqueries need more memory than the server has left", "filter more, or raise --memory-limit: above joins these do not go to disk"},
	{"strconv.ParseFloat", sqlerr.OutOfRange, "a number is out of the range of DOUBLE", ""},
}

// byNumber: numbers that the engine's own errors carry → our kinds, for errors that come as a ready packet.
var byNumber = func() map[int]*sqlerr.Kind {
	m := map[int]*sqlerr.Kind{}
	for _, k := range sqlerr.Kinds() {
		if _, taken := m[int(k.Errno)]; !taken && k.Errno != sqlerr.Engine.Errno {
			m[int(k.Errno)] = k
		}
	}
	return m
}()

// errTimeout is the cause of a context that max_execution_time ended.
var errTimeout = sqlerr.New(sqlerr.Timeout, "the statement ran longer than 'max_execution_time' and was interrupted")

// errKilled is what a statement ends with when KILL QUERY or a shutdown ended it.
var errKilled = sqlerr.New(sqlerr.Interrupted, "the statement was interrupted")

// fault turns whatever a statement ended with into what the client shall see. ctx is the statement's: when it was cancelled, its cause
// counts, not what the engine made of it.
func fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if own, ok := sqlerr.As(cause); ok {
			return own
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, cause) {
			return errKilled
		}
	}
	if own, ok := sqlerr.As(err); ok {
		return own
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errKilled
	}
	if insert, ok := err.(sql.WrappedInsertError); ok {
		return fault(ctx, insert.Cause)
	}
	if conversion, ok := err.(sql.WrappedTypeConversionError); ok {
		return fault(ctx, conversion.Err)
	}
	for _, k := range engineKinds {
		if k.engine.Is(err) && err.Error() != "Unknown table ''" {
			return advise(ctx, sqlerr.New(k.kind, "%s", message(k.kind, err)).WithCause(err))
		}
	}
	for _, u := range untyped {
		if strings.HasPrefix(err.Error(), u.begins) {
			e := sqlerr.New(u.kind, "%s", cmp.Or(u.message, err.Error())).WithCause(err)
			return e.WithFixedHint(u.hint)
		}
	}
	if packet, ok := err.(*vmysql.SQLError); ok {
		return fromPacket(packet)
	}
	return fromPacket(sql.CastSQLError(err))
}

// fromPacket keeps the number of an error that the engine has numbered itself.
func fromPacket(p *vmysql.SQLError) error {
	if p.Num == int(sqlerr.Engine.Errno) {
		return sqlerr.New(sqlerr.Engine, "%s", p.Message).WithCause(p)
	}
	if k, ok := byNumber[p.Num]; ok {
		return sqlerr.New(k, "%s", p.Message).WithCause(p)
	}
	state := p.State
	if state == "" {
		state = "HY000"
	}
	k := *sqlerr.Engine
	k.Errno, k.State = uint16(p.Num), state
	return sqlerr.New(&k, "%s", p.Message).WithCause(p)
}

// message is the engine's text without the marks it puts before some.
func message(k *sqlerr.Kind, err error) string {
	text := strings.TrimPrefix(err.Error(), "error: ")
	if name, ok := strings.CutPrefix(text, "table not found: "); ok && k == sqlerr.NoTable {
		return fmt.Sprintf("table '%s' does not exist", name)
	}
	if name, ok := strings.CutPrefix(text, "database not found: "); ok && k == sqlerr.NoDatabase {
		return fmt.Sprintf("database '%s' does not exist", name)
	}
	return text
}
