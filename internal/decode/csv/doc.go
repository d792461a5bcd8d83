// Package csv decodes records that are one row of delimited text each.
//
//	schema, err := csv.NewSchema(fields, csv.Defaults())
//
// # The grammar
//
// A record is fields between delimiters. A field that begins with a quote is all up to the closing quote, delimiters and line breaks included; in it two
// quotes stand for one, and so do the escape character and a quote. Elsewhere a quote is a character as others are. One line break may end the record, \n or
// \r\n; empty lines and comments around the row are skipped. A second row is bad data, and so is a row with more or fewer fields than the
// schema has columns: which field would belong to which column is anybody's guess.
//
// A field without quotes that is the null text is NULL; with quotes it is text. What is wanted as another type than text is converted as a cast does.
//
// With a header the first line names the fields of the second, and each column takes the field with its name.
//
// Options have the names and, where there is one, the defaults of Spark's reader. encoding/csv is the oracle in the tests.
package csv
