package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Page views are Protobuf through the registry. Their schema imports another one, which the registry keeps under a subject of its own.
const (
	deviceFile   = "shop/device.proto"
	deviceSchema = `syntax = "proto3";
package shop;
message Device {
  string browser = 1;
  optional uint32 width = 2;
  repeated string languages = 3;
}
`
	pageViewSchema = `syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/device.proto";
message PageView {
  uint64 id = 1;
  string user = 2;
  string url = 3;
  uint32 millis = 4;
  oneof referrer { string search = 5; string campaign = 6; }
  google.protobuf.Timestamp viewed_at = 7;
  Action action = 8;
  Device device = 9;
  enum Action { VIEW = 0; SEARCH = 1; BUY = 2; }
}
`
)

var (
	pages    = []string{"/", "/tea", "/mugs", "/cart", "/checkout"}
	actions  = []protoreflect.EnumNumber{0, 0, 0, 0, 1, 1, 2}
	browsers = []string{"Firefox", "Chrome", "Safari"}
	searches = []string{"green tea", "blue mug", "honey"}
)

// pageViews is the schema as it was registered.
type pageViews struct {
	message protoreflect.MessageDescriptor
	id      int
}

func registerPageViews(ctx context.Context, registry *sr.Client) (*pageViews, error) {
	const file = "page_view.proto"
	sources := protocompile.SourceAccessorFromMap(map[string]string{file: pageViewSchema, deviceFile: deviceSchema})
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: sources})}
	files, err := compiler.Compile(ctx, file)
	if err != nil {
		return nil, err
	}
	device, err := registry.CreateSchema(ctx, deviceFile, sr.Schema{Schema: deviceSchema, Type: sr.TypeProtobuf})
	if err != nil {
		return nil, fmt.Errorf("register the device schema: %w", err)
	}
	view, err := registry.CreateSchema(ctx, PageViews+"-value", sr.Schema{
		Schema: pageViewSchema, Type: sr.TypeProtobuf,
		References: []sr.SchemaReference{{Name: deviceFile, Subject: deviceFile, Version: device.Version}},
	})
	if err != nil {
		return nil, fmt.Errorf("register the page view schema: %w", err)
	}
	return &pageViews{message: files[0].Messages().ByName("PageView"), id: view.ID}, nil
}

// pageView makes the page view with the next number.
func (s *Shop) pageView(at time.Time) (*kgo.Record, error) {
	view := dynamicpb.NewMessage(s.views.message)
	set := func(m protoreflect.Message, name protoreflect.Name, v any) {
		m.Set(m.Descriptor().Fields().ByName(name), protoreflect.ValueOf(v))
	}
	part := func(name protoreflect.Name) protoreflect.Message {
		return view.Mutable(s.views.message.Fields().ByName(name)).Message()
	}
	user := fmt.Sprintf("c%04d", s.rng.IntN(initialCustomers))
	set(view, "id", s.nextView)
	s.nextView++
	set(view, "user", user)
	set(view, "url", pages[s.rng.IntN(len(pages))])
	set(view, "millis", uint32(20+s.rng.IntN(400)))
	action := actions[s.rng.IntN(len(actions))]
	set(view, "action", action)
	switch {
	case action == 1:
		set(view, "search", searches[s.rng.IntN(len(searches))])
	case s.rng.IntN(3) == 0:
		set(view, "campaign", "spring")
	}
	viewed := part("viewed_at")
	set(viewed, "seconds", at.Unix())
	set(viewed, "nanos", int32(at.Nanosecond()))
	if s.rng.IntN(4) > 0 {
		device := part("device")
		set(device, "browser", browsers[s.rng.IntN(len(browsers))])
		if s.rng.IntN(2) == 0 {
			set(device, "width", uint32(800+s.rng.IntN(3000)))
		}
		languages := device.Mutable(device.Descriptor().Fields().ByName("languages")).List()
		for _, l := range []string{"cs", "en"}[:s.rng.IntN(3)] {
			languages.Append(protoreflect.ValueOfString(l))
		}
	}
	value, err := proto.MarshalOptions{}.MarshalAppend(s.header(s.views.id, []int{0}), view)
	if err != nil {
		return nil, fmt.Errorf("encode a page view: %w", err)
	}
	return &kgo.Record{Topic: PageViews, Key: []byte(user), Value: value, Timestamp: at}, nil
}
