package planner

import (
	enginejson "github.com/dolthub/go-mysql-server/sql/expression/function/json"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/planner/expr"
)

// jsonExtract compiles json_extract(x, 'constant') and -> of a value of type JSON, with a path of plain names and indexes. Of text the engine makes a document first,
// whose numbers and order of names are no longer those that were written.
func (c compiler) jsonExtract(e *enginejson.JSONExtract) (kernel, bool) {
	if len(e.Paths) != 1 {
		return kernel{}, false
	}
	v, ok := constantOf(c.ctx, e.Paths[0])
	text, isText := v.(string)
	if !ok || !isText {
		return kernel{}, false
	}
	path, ok := expr.PlainJSONPath(text)
	if !ok || len(path) == 0 {
		return kernel{}, false
	}
	x, ok := c.compile(e.JSON)
	if !ok || x.kind.Kind != column.JSON {
		return kernel{}, false
	}
	return unary(e.Type(c.ctx), x, func(x ops.Expr) (ops.Expr, error) { return ops.Extract(x, path) })
}

// jsonUnquote compiles json_unquote(x), and so ->>, of a value of type JSON.
func (c compiler) jsonUnquote(e *expr.Unquote) (kernel, bool) {
	x, ok := c.compile(e.Child)
	if !ok || x.kind.Kind != column.JSON {
		return kernel{}, false
	}
	return unary(e.Type(c.ctx), x, ops.Unquote)
}
