package kafka

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule"

func TestJAASLinesAreReadAsJavaDoes(t *testing.T) {
	for _, c := range []struct {
		name, line string
		module     string
		options    map[string]string
	}{
		{"double quotes", plainModule + ` required username="u" password="p";`, "PlainLoginModule", map[string]string{"username": "u", "password": "p"}},
		{"single quotes", plainModule + ` required username='u' password='p"q';`, "PlainLoginModule", map[string]string{"username": "u", "password": `p"q`}},
		{"no quotes", plainModule + ` required username=u password=p-1_$.x;`, "PlainLoginModule", map[string]string{"username": "u", "password": "p-1_$.x"}},
		{"lines and spaces", "  " + plainModule + "\n\trequired\n  username = \"u\"\n  password = \"p\" ;\n", "PlainLoginModule", map[string]string{"username": "u", "password": "p"}},
		{"comments", plainModule + " required /* who */ username=u // why\n password=p;", "PlainLoginModule", map[string]string{"username": "u", "password": "p"}},
		{"comment that only looks closed", plainModule + " required /*/ password=x */ username=u;", "PlainLoginModule", map[string]string{"username": "u"}},
		{"no comment within quotes", plainModule + ` required username="u//v" password="/*p*/";`, "PlainLoginModule", map[string]string{"username": "u//v", "password": "/*p*/"}},
		{"escapes", plainModule + ` required username="a\"b\\c" password="\101\t\x\0";`, "PlainLoginModule", map[string]string{"username": `a"b\c`, "password": "A\tx\x00"}},
		{"no semicolon", plainModule + ` required username="u"`, "PlainLoginModule", map[string]string{"username": "u"}},
		{"semicolon in a value", plainModule + ` required password="a;b=c";`, "PlainLoginModule", map[string]string{"password": "a;b=c"}},
		{"another flag", plainModule + ` Requisite;`, "PlainLoginModule", map[string]string{}},
		{"empty value", plainModule + ` required password="";`, "PlainLoginModule", map[string]string{"password": ""}},
		{"shaded", "kafkashaded." + plainModule + ` required;`, "PlainLoginModule", map[string]string{}},
		{"shaded for IAM", `shadedmskiam.software.amazon.msk.auth.iam.IAMLoginModule required;`, "IAMLoginModule", map[string]string{}},
		{"scram", `org.apache.kafka.common.security.scram.ScramLoginModule required username="ü" password="🔑";`, "ScramLoginModule", map[string]string{"username": "ü", "password": "🔑"}},
	} {
		login, err := parseJAAS(c.line)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.options, login.options); diff != "" || login.module != c.module {
			t.Errorf("%s: %s %s", c.name, login.module, diff)
		}
	}
}

func TestBrokenJAASLinesSayWhereAndNotWhat(t *testing.T) {
	for line, want := range map[string]string{
		``:                             "does not begin with the class",
		`;`:                            "does not begin with the class",
		`hunter2`:                      "does not begin with the class of a login module that Millrace knows",
		`com.example.hunter2 required`: "does not begin with the class of a login module that Millrace knows",
		plainModule:                    "a word is expected at character 56",
		plainModule + ` hunter2;`:      "not followed by the word required",
		plainModule + ` required hunter2 username="u";`:           "'=' is expected at character 74",
		plainModule + ` required password=hunter2 hunter2`:        "'=' is expected at character 90",
		plainModule + ` required password="hunter2;`:              "the quote at character 75 is not closed",
		plainModule + ` required password=;`:                      "a word is expected at character 75",
		plainModule + ` required password=hunter2 password="x";`:  "the option at character 83 is given twice",
		plainModule + ` required password=hunter2; hunter2`:       "something follows the semicolon",
		plainModule + ` required password="hunter2\`:              "is not closed",
		plainModule + ` required =hunter2`:                        "a word is expected",
		plainModule + ` required password="hunter2" /* hunter2`:   "",
		plainModule + ` required password="hunter2" // hunter2 ;`: "",
	} {
		_, err := parseJAAS(line)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows it: %v", line, err)
		}
	}
}

// FuzzJAAS writes any user and password as Java's tools quote them and wants them back; and whatever the line, an error shows nothing of it.
func FuzzJAAS(f *testing.F) {
	f.Add("user", "pass")
	f.Add(`a"b\c`, "\n\t;//")
	f.Add("/*", "'")
	f.Fuzz(func(t *testing.T, user, password string) {
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
		login, err := parseJAAS(plainModule + ` required username="` + quote(user) + `" password="` + quote(password) + `";`)
		if err != nil || login.options["username"] != user || login.options["password"] != password {
			t.Errorf("%q, %q: got %q, %v", user, password, login.options, err)
		}
		for _, line := range []string{user, plainModule + " " + user, plainModule + " required " + user, plainModule + ` required username="` + user} {
			if _, err := parseJAAS(line); err != nil && len(user) > 12 && strings.Contains(err.Error(), user) {
				t.Errorf("%q: the error shows it: %v", line, err)
			}
		}
	})
}
