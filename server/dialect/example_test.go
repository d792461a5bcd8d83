package dialect_test

import (
	"fmt"

	"millrace/server/dialect"
)

func ExampleRewrite() {
	r, err := dialect.Rewrite("SELECT key::string:user_id FROM STREAM read_kafka(subscribe => ?) WHERE partition = 3", dialect.Mode{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.SQL)
	heading, _ := r.Heading("millrace_path(millrace_cast(`key`, 'STRING'), 'user_id')")
	fmt.Println(heading, r.Params)
	// Output:
	// SELECT millrace_path(millrace_cast(`key`, 'STRING'), 'user_id') FROM read_kafka('#named', '#stream', 1, 'subscribe', ?) WHERE `partition` = 3
	// user_id 1
}

func ExampleErrorAt() {
	_, err := dialect.Rewrite("SELECT value\nFROM t WHERE key::strng = 'a'", dialect.Mode{})
	fmt.Println(err)
	// Output:
	// syntax error at line 2 column 19: type 'strng' is not known
	//   FROM t WHERE key::strng = 'a'
	//                     ^
	// hint: did you mean STRING?
}

func ExampleResult_Origin() {
	// The engine's parser stumbles over the second FROM of the rewritten text. The user is shown the place in what was written.
	text := "SELECT key::string FROM FROM t"
	r, err := dialect.Rewrite(text, dialect.Mode{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dialect.ErrorAt(text, r.Origin(len("SELECT millrace_cast(`key`, 'STRING') FROM ")), "unexpected 'FROM'"))
	// Output:
	// syntax error at line 1 column 25: unexpected 'FROM'
	//   SELECT key::string FROM FROM t
	//                           ^
}
