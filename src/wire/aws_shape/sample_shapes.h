// A small model for the tests of both protocols: every kind of member, nested as deep as the real ones are.
#pragma once

#include <cstddef>

#include "wire/aws_shape/shape.h"

namespace fanfare::wire::aws::sample {

struct Value {
  Text data_type;
  Text string_value;
  Bytes binary_value;
};

struct Item {
  Text id;
  Number delay;
  Map<Value> values;
};

struct Request {
  Text name;
  Number count;
  Number total;
  Flag enabled;
  Bytes blob;
  List<Text> names;
  Map<Text> tags;
  List<Item> items;
  Time expires;
  List<Text> plain_names;  // not flattened
  Map<Text> plain_tags;    // not flattened
};

inline constexpr Member kValueMembers[] = {
    {"DataType", "\"DataType\":", "DataType", &kStringShape, offsetof(Value, data_type), true},
    {"StringValue", "\"StringValue\":", "StringValue", &kStringShape, offsetof(Value, string_value), false},
    {"BinaryValue", "\"BinaryValue\":", "BinaryValue", &kBlobShape, offsetof(Value, binary_value), false},
};
inline constexpr Shape kValue{"Value", Kind::Structure, sizeof(Value), kValueMembers};
inline constexpr Shape kValueMap{
    "ValueMap", Kind::Map, sizeof(Entry<Value>), {}, &kValue, offsetof(Entry<Value>, value), true, "", "Name", "Value"};
inline constexpr Member kItemMembers[] = {
    {"Id", "\"Id\":", "Id", &kStringShape, offsetof(Item, id), true},
    {"Delay", "\"Delay\":", "Delay", &kIntegerShape, offsetof(Item, delay), false},
    {"Values", "\"Values\":", "Value", &kValueMap, offsetof(Item, values), false},
};
inline constexpr Shape kItem{"Item", Kind::Structure, sizeof(Item), kItemMembers};
inline constexpr Shape kItemList{"ItemList", Kind::List, sizeof(Item), {}, &kItem, 0, true};
inline constexpr Shape kNameList{"NameList", Kind::List, sizeof(Text), {}, &kStringShape, 0, true};
inline constexpr Shape kTagMap{
    "TagMap", Kind::Map, sizeof(Entry<Text>), {}, &kStringShape, offsetof(Entry<Text>, value), true, "",
    "Key",    "Value"};
inline constexpr Shape kPlainNameList{"PlainNameList", Kind::List, sizeof(Text), {}, &kStringShape, 0, false, "member"};
inline constexpr Shape kPlainTagMap{
    "PlainTagMap", Kind::Map, sizeof(Entry<Text>), {}, &kStringShape, offsetof(Entry<Text>, value), false, "entry",
    "key",         "value"};
inline constexpr Member kRequestMembers[] = {
    {"Name", "\"Name\":", "Name", &kStringShape, offsetof(Request, name), true},
    {"Count", "\"Count\":", "Count", &kIntegerShape, offsetof(Request, count), false},
    {"Total", "\"Total\":", "Total", &kLongShape, offsetof(Request, total), false},
    {"Enabled", "\"Enabled\":", "Enabled", &kBooleanShape, offsetof(Request, enabled), false},
    {"Blob", "\"Blob\":", "Blob", &kBlobShape, offsetof(Request, blob), false},
    {"Names", "\"Names\":", "NameElement", &kNameList, offsetof(Request, names), false},
    {"Tags", "\"Tags\":", "Tag", &kTagMap, offsetof(Request, tags), false},
    {"Items", "\"Items\":", "Item", &kItemList, offsetof(Request, items), false},
    {"Expires", "\"Expires\":", "Expires", &kTimestampShape, offsetof(Request, expires), false},
    {"PlainNames", "\"PlainNames\":", "PlainNames", &kPlainNameList, offsetof(Request, plain_names), false},
    {"PlainTags", "\"PlainTags\":", "PlainTags", &kPlainTagMap, offsetof(Request, plain_tags), false},
};
inline constexpr Shape kRequest{"Request", Kind::Structure, sizeof(Request), kRequestMembers};

}  // namespace fanfare::wire::aws::sample
