#include "wire/aws_query/xml.h"

#include <charconv>

#include "base/time.h"
#include "wire/aws_shape/text.h"
#include "wire/digest/encoding.h"

namespace fanfare::wire::aws_query {
namespace {

using aws::field_at;
using aws::Kind;
using aws::RawList;
using aws::Shape;

void open(std::string& out, std::string_view name) {
  out.push_back('<');
  out.append(name);
  out.push_back('>');
}
void close(std::string& out, std::string_view name) {
  out.append("</");
  out.append(name);
  out.push_back('>');
}
void append_element(std::string& out, std::string_view name, std::string_view text) {
  open(out, name);
  append_escaped(out, text);
  close(out, name);
}

/// Nullopt-like: an absent scalar writes nothing.
bool is_present(const Shape& shape, const void* field) {
  switch (shape.kind) {
    case Kind::String:
    case Kind::Blob: return static_cast<const aws::Text*>(field)->has_value();
    case Kind::Integer:
    case Kind::Long:
    case Kind::Timestamp: return static_cast<const aws::Number*>(field)->has_value();
    case Kind::Double: return static_cast<const aws::Real*>(field)->has_value();
    case Kind::Boolean: return static_cast<const aws::Flag*>(field)->has_value();
    case Kind::List:
    case Kind::Map: return static_cast<const RawList*>(field)->present;
    case Kind::Structure: return true;
  }
  return false;
}

void append_value(std::string& out, const Shape& shape, const void* field) {
  switch (shape.kind) {
    case Kind::String: append_escaped(out, static_cast<const aws::Text*>(field)->view()); return;
    case Kind::Blob: digest::append_base64(out, static_cast<const aws::Bytes*>(field)->view()); return;
    case Kind::Boolean: out.append(**static_cast<const aws::Flag*>(field) ? "true" : "false"); return;
    case Kind::Integer:
    case Kind::Long: {
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof digits, **static_cast<const aws::Number*>(field)).ptr;
      out.append(digits, end);
      return;
    }
    case Kind::Double: {
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, **static_cast<const aws::Real*>(field)).ptr;
      out.append(digits, end);
      return;
    }
    case Kind::Timestamp: out.append(iso8601(timestamp_from_unix_ms(**static_cast<const aws::Time*>(field)))); return;
    case Kind::Structure: append_members(out, shape, field); return;
    case Kind::List:
    case Kind::Map: return;  // append_list has the names that these need
  }
}

void append_named(std::string& out, std::string_view name, const Shape& shape, const void* field);

void append_list(std::string& out, std::string_view name, const Shape& shape, const RawList& list) {
  if (!shape.flattened) open(out, name);
  const std::string_view element_name = shape.flattened ? name : shape.element_name;
  for (std::uint32_t i = 0; i < list.size; ++i) {
    const char* const element = static_cast<const char*>(list.data) + std::size_t{i} * shape.size;
    if (shape.kind == Kind::List) {
      append_named(out, element_name, *shape.element, element);
      continue;
    }
    open(out, element_name);
    append_element(out, shape.key_name, field_at<aws::Text>(element, 0).view());
    append_named(out, shape.value_name, *shape.element, element + shape.value_offset);
    close(out, element_name);
  }
  if (!shape.flattened) close(out, name);
}

void append_named(std::string& out, std::string_view name, const Shape& shape, const void* field) {
  if (shape.kind == Kind::List || shape.kind == Kind::Map) {
    append_list(out, name, shape, *static_cast<const RawList*>(field));
    return;
  }
  open(out, name);
  append_value(out, shape, field);
  close(out, name);
}

void append_metadata(std::string& out, std::string_view request_id) {
  out.append("<ResponseMetadata>");
  append_element(out, "RequestId", request_id);
  out.append("</ResponseMetadata>");
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  std::size_t done = 0;
  const auto replace = [&](std::size_t at, std::size_t bytes, std::string_view by) {
    out.append(text, done, at - done);
    out.append(by);
    done = at + bytes;
  };
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const aws::Character c = aws::character_at(text, i);
      if (c.bytes == 0) {
        replace(i, 1, "\xEF\xBF\xBD");
      } else if (c.code_point == 0xFFFE || c.code_point == 0xFFFF) {
        replace(i, c.bytes, "\xEF\xBF\xBD");
      }
      i += c.bytes == 0 ? 1 : c.bytes;
      continue;
    }
    switch (byte) {
      case '&': replace(i, 1, "&amp;"); break;
      case '<': replace(i, 1, "&lt;"); break;
      case '>': replace(i, 1, "&gt;"); break;
      case '"': replace(i, 1, "&quot;"); break;
      case '\r': replace(i, 1, "&#xD;"); break;
      case '\t':
      case '\n': break;
      default:
        if (byte < 0x20) replace(i, 1, "\xEF\xBF\xBD");
    }
    ++i;
  }
  out.append(text, done, text.size() - done);
}

void append_members(std::string& out, const Shape& shape, const void* structure) {
  for (const aws::Member& member : shape.members) {
    const void* const field = static_cast<const char*>(structure) + member.offset;
    if (is_present(*member.shape, field)) append_named(out, member.query_name, *member.shape, field);
  }
}

void append_reply(std::string& out, std::string_view xml_namespace, std::string_view operation, const Shape* output,
                  const void* structure, std::string_view request_id) {
  out.append("<?xml version=\"1.0\"?><");
  out.append(operation).append("Response xmlns=\"").append(xml_namespace).append("\">");
  if (output != nullptr) {
    out.append("<").append(operation).append("Result>");
    append_members(out, *output, structure);
    out.append("</").append(operation).append("Result>");
  }
  append_metadata(out, request_id);
  out.append("</").append(operation).append("Response>");
}

void append_error(std::string& out, const ErrorReply& error, std::string_view request_id) {
  out.append("<?xml version=\"1.0\"?><ErrorResponse xmlns=\"").append(error.xml_namespace).append("\"><Error>");
  append_element(out, "Type", error.sender_fault ? "Sender" : "Receiver");
  append_element(out, "Code", error.code);
  append_element(out, "Message", error.message);
  if (error.empty_detail) out.append("<Detail/>");
  out.append("</Error>");
  append_element(out, "RequestId", request_id);
  out.append("</ErrorResponse>");
}

}  // namespace fanfare::wire::aws_query
