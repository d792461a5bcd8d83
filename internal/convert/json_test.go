package convert

import (
	"encoding/json"
	"testing"
)

func TestJSONStringsComeBackAsTheyWere(t *testing.T) {
	for _, text := range []string{"", "plain", `with "quotes" and \`, "line\nbreak\ttab\rreturn", "\x00\x1f\x7f", "šílený 日本 🎉", "\u2028"} {
		quoted := AppendJSONString([]byte("before"), []byte(text))
		var back string
		if err := json.Unmarshal(quoted[len("before"):], &back); err != nil || back != text {
			t.Errorf("%q becomes %s, back %q, %v", text, quoted, back, err)
		}
	}
}

func TestJSONStringsReplaceWhatIsNotUTF8(t *testing.T) {
	for text, want := range map[string]string{"a\xffb": "\"a\ufffdb\"", "\xe2\x82": "\"\ufffd\"", "\xc0\xaf": "\"\ufffd\ufffd\"", "\xf0\x9f\x8e\"": "\"\ufffd\\\"\""} {
		if got := string(AppendJSONString(nil, []byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
