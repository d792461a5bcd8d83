package option_test

import (
	"fmt"

	"millrace/internal/option"
)

// A table says what there is; values, errors and docs follow from it.
func Example() {
	table := option.New("read_files", "argument", "", " => ",
		option.Option{Name: "path", Type: option.String, Required: true, Doc: "What to read.", Example: "'in.csv'"},
		option.Option{Name: "maxRows", Type: option.Long, Min: 1, Doc: "Where to stop.", Example: "100"},
		option.Option{Name: "headerLine", Type: option.Bool, Default: "true", Doc: "Whether the first line names the columns.", Example: "false"},
	)
	values, err := table.Bind([]option.Pair{{Name: "PATH", Value: "orders.csv"}, {Name: "max_rows", Value: "10"}}, false)
	fmt.Println(values.String("path"), values.Int("maxRows"), values.Bool("headerLine"), err)

	_, err = table.Bind([]option.Pair{{Name: "max_row", Value: 10}}, false)
	fmt.Println(err)
	_, err = table.Bind([]option.Pair{{Name: "max_rows", Value: "ten"}}, false)
	fmt.Println(err)
	// Output:
	// orders.csv 10 true <nil>
	// read_files has no argument 'max_row'
	// hint: did you mean 'maxRows'?
	// 'max_rows' is 'ten', expected a whole number
	// hint: for example maxRows => 100
}
