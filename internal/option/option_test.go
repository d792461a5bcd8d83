package option

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/sqlerr"
)

var fruit = New("read_fruit", "argument", "", " => ",
	Option{Name: "basketName", Aliases: []string{"basket"}, Type: String, Example: "'b'"},
	Option{Name: "ripeOnly", Type: Bool, Default: "true", Example: "false"},
	Option{Name: "maxPieces", Type: Int, Min: 1, Example: "8"},
	Option{Name: "weightGrams", Type: Long, Default: "5", Example: "100"},
	Option{Name: "pickDelay", Type: Duration, Default: "15m", Example: "'10m'"},
	Option{Name: "pickedAfter", Type: Timestamp, Example: "1700000000000"},
	Option{Name: "kinds", Type: List, Example: "'apple,pear'"},
	Option{Name: "crates", Type: JSON, Example: `'{"a":1}'`},
	Option{Name: "extra", Type: Map, Secret: true, Example: `'{"a":"b"}'`},
	Option{Name: "colour", Type: Enum, Words: []string{"red", "green"}, Default: "red", Example: "'green'"},
	Option{Name: "peel", Type: Enum, Words: []string{"no", "yes"}, Default: "no", Batch: Later, Example: "'yes'"},
	Option{Name: "knife.sharpLevel", Type: Long, Batch: Ignored, Reason: "hands do", Stream: Supported},
	Option{Name: "worm", Batch: Refused, Reason: "nobody wants one"},
	Option{Name: "doorPassword", Type: String, Secret: true},
	Option{Name: "crate.*", Type: Scalar, SecretName: LooksSecret},
)

func TestBindConvertsEveryType(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 1, time.UTC)
	for _, c := range []struct {
		name  string
		value any
		want  any // a string that begins with "error: " is the main line of the error
	}{
		{"basketName", "b", "b"},
		{"basketName", []byte("b"), "b"},
		{"basketName", 7, "error: 'basketName' is 7, expected text"},
		{"basketName", " ", "error: 'basketName' is empty, expected text"},
		{"ripeOnly", false, false},
		{"ripeOnly", "FALSE", false},
		{"ripeOnly", int8(1), true},
		{"ripeOnly", "yes", "error: 'ripeOnly' is 'yes', expected true or false"},
		{"maxPieces", " 8 ", int64(8)},
		{"maxPieces", uint64(8), int64(8)},
		{"maxPieces", 8.0, int64(8)},
		{"maxPieces", 8.5, "error: 'maxPieces' is 8.5, expected a whole number"},
		{"maxPieces", 0, "error: 'maxPieces' is 0, it must be positive"},
		{"maxPieces", int64(1) << 31, "error: 'maxPieces' is 2147483648, expected a whole number from 1 to 2147483647"},
		{"weightGrams", "9223372036854775807", int64(9223372036854775807)},
		{"weightGrams", uint64(1) << 63, "error: 'weightGrams' is '9223372036854775808', expected a whole number"},
		{"weightGrams", -1, "error: 'weightGrams' is -1, expected a whole number from 0 to 9223372036854775807"},
		{"pickDelay", "1 hour 30 minutes", 90 * time.Minute},
		{"pickDelay", "600s", 10 * time.Minute},
		{"pickDelay", "INTERVAL 5 MINUTES", 5 * time.Minute},
		{"pickDelay", "10", "error: 'pickDelay' is '10', expected a length of time such as '10m' or '1 hour 30 minutes': a unit is expected after a number: ms, s, m, h, d or w"},
		{"pickDelay", 10, "error: 'pickDelay' is 10, expected a length of time such as '10m' or '1 hour 30 minutes'"},
		{"pickedAfter", "1700000000000", int64(1700000000000)},
		{"pickedAfter", at, int64(1714979289001)},
		{"pickedAfter", "2024-05-06 07:08:09.5", int64(1714979289500)},
		{"pickedAfter", "2024-05-06T09:08:09+02:00", int64(1714979289000)},
		{"pickedAfter", "soon", "error: 'pickedAfter' is 'soon', expected a single long value (milliseconds since 1970) or text 'YYYY-MM-DD HH:MM:SS[.fff]' in UTC"},
		{"pickedAfter", -1, "error: 'pickedAfter' is -1, expected a single long value (milliseconds since 1970) or text 'YYYY-MM-DD HH:MM:SS[.fff]' in UTC"},
		{"kinds", " apple, ,pear ", []string{"apple", "pear"}},
		{"kinds", " , ", "error: 'kinds' is ' , ', expected at least one entry"},
		{"crates", map[string]any{"a": 1}, `{"a":1}`},
		{"crates", true, "error: 'crates' is true, expected the text of a JSON object"},
		{"extra", `{"a":"b","n":1,"t":true}`, map[string]string{"a": "b", "n": "1", "t": "true"}},
		{"extra", map[string]string{"a": "b"}, map[string]string{"a": "b"}},
		{"extra", map[string]any{"a": 1, "b": false}, map[string]string{"a": "1", "b": "false"}},
		{"extra", "{}", map[string]string{}},
		{"extra", `{"a":"hunter2","a":"b"}`, "error: 'extra' is [redacted], expected a map, or the text of a JSON object whose values are text, numbers or truth values"},
		{"extra", `{"a":null}`, "error: 'extra' is [redacted], expected a map, or the text of a JSON object whose values are text, numbers or truth values"},
		{"extra", `["a"]`, "error: 'extra' is [redacted], expected a map, or the text of a JSON object whose values are text, numbers or truth values"},
		{"extra", `{"a":{}} hunter2`, "error: 'extra' is [redacted], expected a map, or the text of a JSON object whose values are text, numbers or truth values"},
		{"colour", " GREEN ", "green"},
		{"colour", "gren", "error: 'colour' is 'gren', expected one of red, green"},
		{"crate.size", 5, "5"},
		{"crate.password", struct{}{}, "error: 'crate.password' is [redacted], expected text, a number or a truth value"},
		{"basketName", nil, "error: 'basketName' is NULL, a value is needed"},
		{"peel", "YES", "error: 'peel' => 'yes' is not supported yet"},
		{"peel", "no", "no"},
		{"worm", "w", "error: 'worm' is refused: nobody wants one"},
		{"maxPiece", 1, "error: read_fruit has no argument 'maxPiece'"},
	} {
		v, err := fruit.Bind([]Pair{{c.name, c.value}}, false)
		if want, ok := c.want.(string); ok && strings.HasPrefix(want, "error: ") {
			var e *sqlerr.Error
			if !errors.As(err, &e) || "error: "+e.Msg != want {
				t.Errorf("%s => %v: got error %v, want %s", c.name, c.value, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s => %v: %v", c.name, c.value, err)
			continue
		}
		if diff := cmp.Diff(c.want, v.given[0].value); diff != "" {
			t.Errorf("%s => %v: (-want +got)\n%s", c.name, c.value, diff)
		}
	}
}

func TestBindKnowsNamesInEveryForm(t *testing.T) {
	for _, name := range []string{"basketName", "BASKETNAME", "basket_name", "Basket_Name", "basket", " basket "} {
		v, err := fruit.Bind([]Pair{{name, "b"}}, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if v.String("basketName") != "b" {
			t.Errorf("%s is not basketName", name)
		}
	}
	if o := fruit.Lookup("knife_sharp_level"); o == nil || o.Name != "knife.sharpLevel" {
		t.Error("a dotted name has no snake_case form")
	}
}

func TestBindJudgesRepeatedOptions(t *testing.T) {
	if _, err := fruit.Bind([]Pair{{"basket", "b"}, {"basket_name", "b"}}, false); err != nil {
		t.Errorf("two names with one value: %v", err)
	}
	_, err := fruit.Bind([]Pair{{"basket", "b"}, {"basketName", "c"}}, false)
	if !sqlerr.HasKind(err, sqlerr.OptionConflict) || !strings.Contains(err.Error(), "'basket' and 'basketName' are the same argument") {
		t.Errorf("two names with two values: %v", err)
	}
	_, err = fruit.Bind([]Pair{{"basket", "b"}, {"BASKET", "b"}}, false)
	if !sqlerr.HasKind(err, sqlerr.OptionConflict) || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("one name twice: %v", err)
	}
}

func TestValuesFallBackToTheDefaultsOfTheTable(t *testing.T) {
	v, err := fruit.Bind(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Bool("ripeOnly") || v.Int("weightGrams") != 5 || v.Duration("pickDelay") != 15*time.Minute || v.String("colour") != "red" || v.String("basketName") != "" {
		t.Error("a default is missing")
	}
	if err := v.Require("basketName"); !sqlerr.HasKind(err, sqlerr.OptionMissing) || !strings.Contains(err.Error(), "for example basketName => 'b'") {
		t.Errorf("Require: %v", err)
	}
}

func TestSupportFollowsTheKindOfQuery(t *testing.T) {
	pair := []Pair{{"knife.sharpLevel", 3}}
	batch, err := fruit.Bind(pair, false)
	if err != nil || len(batch.Warnings) != 1 || batch.Warnings[0] != "'knife.sharpLevel' is ignored: hands do" {
		t.Errorf("batch: %v, %v", batch, err)
	}
	stream, err := fruit.Bind(pair, true)
	if err != nil || len(stream.Warnings) != 0 {
		t.Errorf("stream: %v, %v", stream, err)
	}
}

func TestSettingsShowNoSecret(t *testing.T) {
	v, err := fruit.Bind([]Pair{{"doorPassword", "hunter2"}, {"extra", `{"k":"hunter2"}`}, {"crate.api.key", "hunter2"}, {"basket", "http://me:hunter2@host/"}, {"kinds", "a"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{{"doorPassword", Redacted}, {"extra", Redacted}, {"crate.api.key", Redacted}, {"basketName", "http://" + Redacted + "@host/"}, {"kinds", "a"}}
	got := v.Settings()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNearestFindsSlipsAndNothingElse(t *testing.T) {
	names := []string{"startingOffsets", "subscribe", "subscribePattern", "failOnDataLoss", "format", "kafka.sasl.mechanism"}
	for slip, want := range map[string]string{
		"startingOffset": "startingOffsets", "starting_offset": "startingOffsets", "subscirbe": "subscribe", "failondataloss": "failOnDataLoss",
		"fromat": "format", "kafka.sasl.mechanisms": "kafka.sasl.mechanism", "colour": "", "x": "", "": "", strings.Repeat("z", 1<<16): "",
	} {
		if got := Nearest(slip, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", slip, got, want)
		}
	}
}

func TestShowKeepsOneShortLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb":                        "a b",
		"user:pw@host:9092,h2:9092":   Redacted + "@host:9092,h2:9092",
		strings.Repeat("é", 100):      strings.Repeat("é", 60) + "…",
		"a" + strings.Repeat("é", 99): "a" + strings.Repeat("é", 59) + "…",
		"\xff":                        "?",
	} {
		if got := Show(in); got != want {
			t.Errorf("Show(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMarkdownHasARowPerOption(t *testing.T) {
	var b strings.Builder
	if err := fruit.WriteMarkdown(&b, true); err != nil {
		t.Fatal(err)
	}
	want := "| `knife.sharpLevel` (`knife_sharp_level`) | long |  | ignored with a warning | yes | Hands do. |  |\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no row %q in\n%s", want, b.String())
	}
	if rows := strings.Count(b.String(), "\n"); rows != len(fruit.Options())+2 {
		t.Errorf("%d lines", rows)
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"10m", "1 hour 30 minutes", "interval 5 days", "1.5h", "1e9s", "99999999999w", "..s", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil && d < 0 {
			t.Errorf("%q gives %v", s, d)
		}
	})
}
