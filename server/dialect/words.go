package dialect

import "strings"

// word identifies a keyword. The zero word is an ordinary identifier.
type word uint16

// Keywords that steer the rewriter or a statement. What follows firstReserved is reserved: it cannot be a name unless quoted.
const (
	wordNone word = iota
	wordAnalyze
	wordBegin
	wordCast
	wordDate
	wordDuplicate
	wordEnd
	wordFormat
	wordNulls
	wordOffset
	wordRespect
	wordStream
	wordTime
	wordTimestamp
	wordTruncate
	wordTryCast
	wordView
	wordRefused // words that only the engine's parser refuses as names
	wordAlias   // words that it refuses as names of tables behind AS
	firstReserved
	wordReserved // reserved words without a constant of their own
	wordCallable // reserved words that are also names of functions
	wordOperand  // reserved words that are values
	wordAdd
	wordAlter
	wordAs
	wordBy
	wordCase
	wordChange
	wordCollate
	wordCreate
	wordDelete
	wordDesc
	wordDescribe
	wordDrop
	wordElse
	wordExplain
	wordFor
	wordForce
	wordForeign
	wordFrom
	wordFulltext
	wordGrant
	wordGroup
	wordHaving
	wordIf
	wordIgnore
	wordIn
	wordInsert
	wordInto
	wordJoin
	wordKey
	wordLag
	wordLateral
	wordLike
	wordLimit
	wordLinear
	wordLock
	wordLoop
	wordOn
	wordOrder
	wordOver
	wordPartition
	wordPrimary
	wordReferences
	wordRename
	wordRepeat
	wordReplace
	wordRevoke
	wordSelect
	wordSet
	wordShow
	wordSpatial
	wordTable
	wordThen
	wordTo
	wordUnion
	wordUnique
	wordUpdate
	wordUse
	wordUsing
	wordValues
	wordWhere
	wordWhile
	wordWindow
	wordWith
)

func (w word) reserved() bool { return w > firstReserved }

// callable reports whether a reserved word followed by a parenthesis is a function call.
func (w word) callable() bool {
	switch w {
	case wordCallable, wordIf, wordInsert, wordLag, wordRepeat, wordReplace, wordValues, wordOperand:
		return true
	}
	return false
}

// words maps lower-case text to keywords.
var words = map[string]word{
	"analyze": wordAnalyze, "begin": wordBegin, "cast": wordCast, "date": wordDate, "duplicate": wordDuplicate, "end": wordEnd,
	"format": wordFormat, "nulls": wordNulls, "offset": wordOffset, "respect": wordRespect, "stream": wordStream, "time": wordTime,
	"timestamp": wordTimestamp, "truncate": wordTruncate, "try_cast": wordTryCast, "view": wordView,

	"add": wordAdd, "alter": wordAlter, "as": wordAs, "by": wordBy, "case": wordCase, "change": wordChange, "collate": wordCollate,
	"create": wordCreate, "delete": wordDelete, "desc": wordDesc, "describe": wordDescribe, "drop": wordDrop,
	"else": wordElse, "explain": wordExplain, "for": wordFor, "force": wordForce, "foreign": wordForeign, "from": wordFrom,
	"fulltext": wordFulltext, "grant": wordGrant, "group": wordGroup, "having": wordHaving, "if": wordIf, "ignore": wordIgnore,
	"insert": wordInsert, "in": wordIn, "into": wordInto, "join": wordJoin, "key": wordKey, "lag": wordLag, "lateral": wordLateral, "like": wordLike, "limit": wordLimit,
	"linear": wordLinear, "lock": wordLock, "loop": wordLoop, "on": wordOn, "order": wordOrder, "over": wordOver,
	"partition": wordPartition, "primary": wordPrimary, "references": wordReferences, "rename": wordRename, "repeat": wordRepeat,
	"replace": wordReplace, "revoke": wordRevoke, "select": wordSelect, "set": wordSet, "show": wordShow, "spatial": wordSpatial,
	"straight_join": wordJoin, "table": wordTable, "then": wordThen, "to": wordTo, "union": wordUnion, "except": wordUnion,
	"intersect": wordUnion, "unique": wordUnique, "update": wordUpdate, "use": wordUse, "using": wordUsing, "values": wordValues,
	"where": wordWhere, "while": wordWhile, "window": wordWindow, "with": wordWith,
}

func init() {
	add := func(w word, list string) {
		for _, s := range strings.Fields(list) {
			if _, ok := words[s]; !ok {
				words[s] = w
			}
		}
	}
	add(wordRefused, functionWords+" "+refusedWords)
	add(wordAlias, aliasWords)
	add(wordOperand, "null true false default current_date current_time current_timestamp current_user localtime localtimestamp maxvalue "+
		"utc_date utc_time utc_timestamp")
	add(wordCallable, "char convert cume_dist database dense_rank exists first_value grouping json_table last_value lead left "+
		"match mod nth_value ntile percent_rank rank right row row_number schema")
	add(wordReserved, `accessible all and asc asensitive before between bigint binary blob both call cascade character check column
		condition constraint continue cross cube cursor databases day_hour day_microsecond day_minute day_second dec decimal declare delayed distinct
		deterministic distinctrow div double dual each elseif empty enclosed escape escaped exit fetch float float4 float8 function
		generated get groups high_priority hour_microsecond hour_minute hour_second index infile inner inout insensitive int interval int1 int2 int3 int4
		int8 integer io_after_gtids io_before_gtids is iterate keys kill leading leave lines load long longblob longtext low_priority
		master_bind master_ssl_verify_server_cert mediumblob mediumint mediumtext middleint minute_microsecond minute_second modifies
		natural no_write_to_binlog not numeric of optimize optimizer_costs option optionally or out outer outfile precision procedure purge range read
		read_write reads real recursive regexp release require resignal restrict return rlike rows schemas second_microsecond sensitive
		separator signal smallint specific sql sql_big_result sql_calc_found_rows sql_no_cache sql_small_result sqlexception sqlstate sqlwarning
		ssl starting stored system terminated tinyblob tinyint tinytext trailing trigger undo unlock unsigned usage varbinary varchar
		varcharacter varying virtual when write xor year_month zerofill`)
}

const longestWord = 32

// lookup finds the keyword for an unquoted word, whatever its case.
func lookup(s string) word {
	if len(s) > longestWord {
		return wordNone
	}
	var lower [longestWord]byte
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return words[string(lower[:len(s)])]
}
