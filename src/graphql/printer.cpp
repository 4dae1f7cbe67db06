#include "graphql/printer.h"

#include <fmt/format.h>

#include "graphql/lexer.h"

namespace fanfare::graphql {
namespace {

std::string_view keyword(TypeKind kind) {
  switch (kind) {
    case TypeKind::Scalar: return "scalar";
    case TypeKind::Object: return "type";
    case TypeKind::Interface: return "interface";
    case TypeKind::Union: return "union";
    case TypeKind::Enum: return "enum";
    case TypeKind::InputObject: return "input";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void definition(const DefinitionNode& node) {
    switch (node.kind) {
      case DefinitionKind::Operation: return operation(*node.operation);
      case DefinitionKind::Fragment: return fragment(*node.fragment);
      case DefinitionKind::Schema: return schema(*node.schema);
      case DefinitionKind::Type: return type(*node.type);
      case DefinitionKind::Directive: return directive(*node.directive);
    }
  }

 private:
  void indent() { out_.append(2 * level_, ' '); }

  void description(const Description& text) {
    if (!text.present) return;
    indent();
    print_description(text);
    out_.push_back('\n');
  }

  // A block string whose value would come back otherwise is printed as a plain string.
  void print_description(const Description& text) {
    if (text.is_block) {
      std::string block;
      for (std::size_t i = 0; i < text.text.size(); ++i) {
        if (text.text.substr(i, 3) == "\"\"\"") {
          block.append("\\\"\"\"");
          i += 2;
        } else {
          block.push_back(text.text[i]);
        }
      }
      std::string body = "\n";
      std::size_t start = 0;
      while (true) {
        const std::size_t stop = block.find('\n', start);
        const std::string_view line = std::string_view(block).substr(start, stop == std::string::npos ? stop : stop - start);
        if (!line.empty()) body.append(2 * level_, ' ').append(line);
        body.push_back('\n');
        if (stop == std::string::npos) break;
        start = stop + 1;
      }
      body.append(2 * level_, ' ');
      std::string plain;
      for (std::size_t i = 0; i < body.size(); ++i) {
        if (std::string_view(body).substr(i, 4) == "\\\"\"\"") continue;
        plain.push_back(body[i]);
      }
      if (block_string_value(plain) == text.text && text.text.find('\r') == std::string_view::npos) {
        out_.append("\"\"\"").append(body).append("\"\"\"");
        return;
      }
    }
    print_string(out_, text.text);
  }

  void arguments(const List<ArgumentNode>& nodes) {
    if (nodes.empty()) return;
    out_.push_back('(');
    for (const ArgumentNode& node : nodes) {
      if (&node != nodes.first()) out_.append(", ");
      out_.append(node.name.text()).append(": ");
      print(out_, node.value);
    }
    out_.push_back(')');
  }

  void directives(std::span<const DirectiveNode> nodes) {
    for (const DirectiveNode& node : nodes) {
      out_.append(" @").append(node.name.text());
      arguments(node.arguments);
    }
  }

  void selections(const SelectionSetNode& set) {
    out_.append("{\n");
    ++level_;
    for (const SelectionNode& node : set.selections) {
      indent();
      switch (node.kind) {
        case SelectionKind::Field:
          if (!node.alias().text().empty()) out_.append(node.alias().text()).append(": ");
          out_.append(node.name.text());
          arguments(node.arguments());
          break;
        case SelectionKind::FragmentSpread: out_.append("...").append(node.name.text()); break;
        case SelectionKind::InlineFragment:
          out_.append("...");
          if (!node.name.text().empty()) out_.append(" on ").append(node.name.text());
          break;
      }
      directives(node.directives());
      if (node.selections != nullptr) {
        out_.push_back(' ');
        selections(*node.selections);
      }
      out_.push_back('\n');
    }
    --level_;
    indent();
    out_.push_back('}');
  }

  void operation(const OperationNode& node) {
    description(node.description);
    if (!node.is_shorthand) {
      out_.append(name_of(node.type));
      if (!node.name.text().empty()) out_.append(" ").append(node.name.text());
      if (!node.variables.empty()) {
        out_.append(node.name.text().empty() ? " (" : "(");
        for (std::size_t i = 0; i < node.variables.size(); ++i) {
          const VariableDefinitionNode& variable = *node.variables[i];
          if (i > 0) out_.append(", ");
          if (variable.description.present) {
            print_string(out_, variable.description.text);
            out_.push_back(' ');
          }
          out_.append("$").append(variable.name.text()).append(": ");
          print(out_, variable.type);
          default_value(variable.default_value);
          directives(variable.directives);
        }
        out_.push_back(')');
      }
      directives(node.directives);
      out_.push_back(' ');
    }
    selections(*node.selections);
    out_.push_back('\n');
  }

  void fragment(const FragmentNode& node) {
    description(node.description);
    out_.append("fragment ").append(node.name.text()).append(" on ").append(node.type_condition.text());
    directives(node.directives);
    out_.push_back(' ');
    selections(*node.selections);
    out_.push_back('\n');
  }

  void default_value(const ValueNode* value) {
    if (value == nullptr) return;
    out_.append(" = ");
    print(out_, *value);
  }

  void input_value(const InputValueNode& node) {
    out_.append(node.name.text()).append(": ");
    print(out_, node.type);
    default_value(node.default_value);
    directives(node.directives);
  }

  void argument_definitions(std::span<const InputValueNode> nodes) {
    if (nodes.empty()) return;
    bool has_description = false;
    for (const InputValueNode& node : nodes) has_description |= node.description.present;
    out_.push_back('(');
    if (has_description) {
      out_.push_back('\n');
      ++level_;
      for (const InputValueNode& node : nodes) {
        description(node.description);
        indent();
        input_value(node);
        out_.push_back('\n');
      }
      --level_;
      indent();
    } else {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i > 0) out_.append(", ");
        input_value(nodes[i]);
      }
    }
    out_.push_back(')');
  }

  void schema(const SchemaDefinitionNode& node) {
    description(node.description);
    out_.append(node.is_extension ? "extend schema" : "schema");
    directives(node.directives);
    if (!node.operations.empty()) {
      out_.append(" {\n");
      for (const RootOperationNode& root : node.operations) {
        out_.append("  ").append(name_of(root.type)).append(": ").append(root.name.text()).append("\n");
      }
      out_.push_back('}');
    }
    out_.push_back('\n');
  }

  void names(std::string_view before, std::span<const Name> nodes, std::string_view between) {
    if (nodes.empty()) return;
    out_.append(before);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i > 0) out_.append(between);
      out_.append(nodes[i].text());
    }
  }

  template <class Node, class Each>
  void block(std::span<Node> nodes, Each each) {
    if (nodes.empty()) return;
    out_.append(" {\n");
    ++level_;
    for (const auto& node : nodes) {
      description(node.description);
      indent();
      each(node);
      out_.push_back('\n');
    }
    --level_;
    out_.push_back('}');
  }

  void type(const TypeDefinitionNode& node) {
    description(node.description);
    if (node.is_extension) out_.append("extend ");
    out_.append(keyword(node.kind)).append(" ").append(node.name.text());
    names(" implements ", node.interfaces, " & ");
    directives(node.directives);
    names(" = ", node.members, " | ");
    block(node.fields, [this](const FieldDefinitionNode& field) {
      out_.append(field.name.text());
      argument_definitions(field.arguments);
      out_.append(": ");
      print(out_, field.type);
      directives(field.directives);
    });
    block(node.values, [this](const EnumValueNode& value) {
      out_.append(value.name.text());
      directives(value.directives);
    });
    block(node.input_fields, [this](const InputValueNode& field) { input_value(field); });
    out_.push_back('\n');
  }

  void directive(const DirectiveDefinitionNode& node) {
    description(node.description);
    out_.append("directive @").append(node.name.text());
    argument_definitions(node.arguments);
    if (node.is_repeatable) out_.append(" repeatable");
    names(" on ", node.locations, " | ");
    out_.push_back('\n');
  }

  std::string& out_;
  std::size_t level_ = 0;
};

}  // namespace

void print_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"': out.append("\\\""); break;
      case '\\': out.append("\\\\"); break;
      case '\b': out.append("\\b"); break;
      case '\f': out.append("\\f"); break;
      case '\n': out.append("\\n"); break;
      case '\r': out.append("\\r"); break;
      case '\t': out.append("\\t"); break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          fmt::format_to(std::back_inserter(out), "\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
}

void print(std::string& out, const ValueNode& value) {
  switch (value.kind) {
    case LiteralKind::Variable: out.append("$").append(value.text()); return;
    case LiteralKind::Int:
    case LiteralKind::Float:
    case LiteralKind::Enum: out.append(value.text()); return;
    case LiteralKind::String: print_string(out, value.text()); return;
    case LiteralKind::Boolean: out.append(value.boolean ? "true" : "false"); return;
    case LiteralKind::Null: out.append("null"); return;
    case LiteralKind::List:
      out.push_back('[');
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        if (i > 0) out.append(", ");
        print(out, value.items()[i]);
      }
      out.push_back(']');
      return;
    case LiteralKind::Object:
      out.push_back('{');
      for (std::size_t i = 0; i < value.fields().size(); ++i) {
        if (i > 0) out.append(", ");
        out.append(value.fields()[i].name.text()).append(": ");
        print(out, value.fields()[i].value);
      }
      out.push_back('}');
      return;
  }
}

void print_type(std::string& out, std::string_view name, Wrappers wrappers) {
  for (Wrappers rest = wrappers; rest != 0; rest >>= 2) {
    if ((rest & 3) == kListWrapper) out.push_back('[');
  }
  out.append(name);
  unsigned count = 0;
  while (count < kMaxWrappers && (wrappers >> (2 * count)) != 0) ++count;
  while (count-- > 0) out.push_back((wrappers >> (2 * count) & 3) == kListWrapper ? ']' : '!');
}

void print(std::string& out, const TypeNode& type) { print_type(out, type.name.text(), type.wrappers); }

std::string print(const Document& document) {
  std::string out;
  for (const DefinitionNode& definition : document.definitions) {
    if (!out.empty()) out.push_back('\n');
    Printer(out).definition(definition);
  }
  return out;
}

}  // namespace fanfare::graphql
