package option

import (
	"reflect"
	"strings"

	"millrace/internal/sqlerr"
)

// Bind checks and converts the pairs of one statement. The first fault, in the order of the pairs, is the error.
func (t *Table) Bind(pairs []Pair, streaming bool) (*Values, error) {
	v := &Values{table: t, byKey: map[string]*entry{}}
	for _, p := range pairs {
		if err := t.bindOne(v, p, streaming); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (t *Table) bindOne(v *Values, p Pair, streaming bool) error {
	as := strings.TrimSpace(p.Name)
	o := t.Lookup(as)
	if o == nil {
		return t.Unknown(as)
	}
	// A refused option is refused whatever its value; the reason helps more than a remark on the type.
	if o.support(streaming) == Refused {
		return sqlerr.New(sqlerr.OptionForbidden, "'%s' is refused: %s", as, o.Reason)
	}
	if p.Value == nil {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s' is NULL, a value is needed", as).WithHint("leave the %s out to get its default", t.Noun)
	}
	raw := p.Value
	if secret, ok := raw.(SecretValue); ok {
		if !o.secret(as) {
			return sqlerr.New(sqlerr.OptionForbidden, "secret() may not stand in '%s', whose value appears in messages", as).WithHint("it may stand where a secret is expected, such as a password")
		}
		raw = string(secret)
	}
	value, err := t.convert(o, as, raw)
	if err != nil {
		return err
	}
	key := strings.ToLower(o.Name)
	if strings.HasSuffix(key, "*") {
		key = strings.ToLower(as)
	}
	if first := v.byKey[key]; first != nil {
		return t.again(v, first, as, value)
	}
	switch o.support(streaming) {
	case Later:
		if d, ok := t.defaults[o]; !ok || !reflect.DeepEqual(d, value) {
			return t.later(o, as, value)
		}
	case Ignored:
		v.Warnings = append(v.Warnings, "'"+as+"' is ignored: "+o.Reason)
	}
	e := &entry{option: o, key: key, as: as, value: value}
	v.byKey[key] = e
	v.given = append(v.given, e)
	return nil
}

// again judges an option that was given before: the same name twice is a slip, two names are fine as long as they agree.
func (t *Table) again(v *Values, first *entry, as string, value any) error {
	if strings.EqualFold(first.as, as) {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is given twice", as).WithHint("keep one of them")
	}
	if !reflect.DeepEqual(first.value, value) {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' are the same %s and have different values", first.as, as, t.Noun).
			WithHint("keep one of them; the primary name is '%s'", first.option.Name)
	}
	return nil
}

func (t *Table) later(o *Option, as string, value any) error {
	shown := ""
	if o.Type == Enum {
		shown = " => '" + value.(string) + "'"
		if t.Separator == "=" {
			shown = "=" + value.(string)
		}
	}
	e := sqlerr.New(sqlerr.NotSupported, "'%s'%s is not supported yet", as, shown)
	if o.Default != "" {
		return e.WithHint("this version knows only the default, %s", o.Default)
	}
	return e
}

// Same reports whether two pairs give one option the same value, however each is written.
func (t *Table) Same(a, b Pair) bool {
	o := t.Lookup(a.Name)
	if o == nil || o != t.Lookup(b.Name) {
		return false
	}
	x, errX := t.convert(o, a.Name, a.Value)
	y, errY := t.convert(o, b.Name, b.Value)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
