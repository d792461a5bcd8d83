package store

import (
	"fmt"
	"slices"

	"millrace/internal/column"
)

func (c AddColumn) change(s *Schema) error {
	if !c.Column.Nullable && c.Column.Default.IsNull() {
		return fmt.Errorf("store: column '%s' is NOT NULL and has no default for the rows that are there", c.Column.Name)
	}
	s.Columns = append(s.Columns, c.Column)
	return nil
}

func (c DropColumn) change(s *Schema) error {
	i, err := s.find(c.Name)
	if err != nil {
		return err
	}
	if slices.Contains(s.Cluster, c.Name) {
		return fmt.Errorf("store: the table is clustered by column '%s'", c.Name)
	}
	s.Columns = slices.Delete(s.Columns, i, i+1)
	return nil
}

func (c RenameColumn) change(s *Schema) error {
	i, err := s.find(c.From)
	if err != nil {
		return err
	}
	s.Columns[i].Name = c.To
	if k := slices.Index(s.Cluster, c.From); k >= 0 {
		s.Cluster[k] = c.To
	}
	return nil
}

func (c WidenColumn) change(s *Schema) error {
	i, err := s.find(c.Name)
	if err != nil {
		return err
	}
	col := &s.Columns[i]
	narrower := c.Width > 0 && (col.Width == 0 || c.Width < col.Width) || col.Fixed && c.Width != col.Width
	if !Widens(col.Type, c.Type) || narrower || col.Nullable && !c.Nullable {
		return fmt.Errorf("store: column '%s' cannot become %v in place", c.Name, c.Type)
	}
	col.Type, col.Width, col.Nullable = c.Type, c.Width, c.Nullable
	return nil
}

func (c SetCluster) change(s *Schema) error {
	s.Cluster = slices.Clone(c.Columns)
	return nil
}

func (c SetDurability) change(s *Schema) error {
	s.Durability = c.Durability
	return nil
}

func (s *Schema) find(name string) (int, error) {
	if i := s.Index(name); i >= 0 {
		return i, nil
	}
	return -1, fmt.Errorf("store: there is no column '%s'", name)
}

// Widens reports whether every stored value of from is one of to, without being touched.
func Widens(from, to column.Type) bool {
	switch {
	case from == to:
		return true
	case from.Kind == column.Int32 && to.Kind == column.Int64, from.Kind == column.Text && to.Kind == column.Bytes:
		return true
	case from.Kind != to.Kind:
		return false
	case from.Kind == column.Decimal:
		return to.Scale == from.Scale && to.Precision >= from.Precision
	default:
		return to.Scale >= from.Scale
	}
}
