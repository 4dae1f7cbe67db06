#!/usr/bin/env python3
"""Writes src/api/aws/{sqs,sns,sts,cloudwatch}_model.{h,cpp} from src/api/SERVICE/model.json.

    tools/generate_operations.py                 # writes them anew
    tools/generate_operations.py MODELS_DIR      # takes the extracts anew first, from its sqs.json, sns.json, sts.json
    tools/generate_operations.py --check         # says which files are not what they come from gives

The extracts of SQS, SNS and STS hold what the services' models say of operations, members and errors, without texts,
patterns and ranges. --check compares them with the models when those are at ../shared/data/aws-models. Of CloudWatch
the broker has three actions only: its model.json is written by hand.

What the models do not say stands here: SQS's model describes the JSON protocol only, so the names that its Query
protocol uses (API version 2012-11-05) are in SQS_QUERY_NAMES and SQS_MAP_NAMES.
"""
import json
import pathlib
import re
import sys

SERVICES = {
    "sqs": {"namespace": "http://queue.amazonaws.com/doc/2012-11-05/", "target": "AmazonSQS", "json": True},
    "sns": {"namespace": None, "target": "", "json": False},
    "sts": {"namespace": None, "target": "", "json": False},
    "cloudwatch": {"namespace": None, "target": "GraniteServiceVersion20100801", "json": True, "name": "monitoring"},
}

# Member -> what the Query protocol repeats for each element. "Entries" and the like take the element's shape name.
SQS_QUERY_NAMES = {
    "AWSAccountIds": "AWSAccountId", "Actions": "ActionName", "AttributeNames": "AttributeName",
    "MessageAttributeNames": "MessageAttributeName", "MessageSystemAttributeNames": "MessageSystemAttributeName",
    "TagKeys": "TagKey", "Attributes": "Attribute", "Tags": "Tag", "tags": "Tag",
    "MessageAttributes": "MessageAttribute",
    "MessageSystemAttributes": "MessageSystemAttribute", "StringListValues": "StringListValue",
    "BinaryListValues": "BinaryListValue", "QueueUrls": "QueueUrl", "queueUrls": "QueueUrl", "Messages": "Message",
}
SQS_ELEMENT_SHAPE_NAMES = {"Entries", "Successful", "Failed", "Results"}
SQS_MAP_NAMES = {"TagMap": ("Key", "Value")}  # every other map: Name, Value

OWN_MODELS = pathlib.Path(__file__).resolve().parent.parent / "src/api"

SCALARS = {"string": ("Text", "kStringShape"), "integer": ("Number", "kIntegerShape"), "long": ("Number", "kLongShape"),
           "double": ("Real", "kDoubleShape"),
           "boolean": ("Flag", "kBooleanShape"), "blob": ("Bytes", "kBlobShape"),
           "timestamp": ("Time", "kTimestampShape")}


CPP_WORDS = {"namespace", "operator", "register", "default"}


def snake(name):
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return name.lower() + ("_" if name.lower() in CPP_WORDS else "")


def wrapped(text, width=120):
    """Breaks lines that are too wide behind a comma, and goes on four columns further in."""
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        while len(line) > width:
            at = line.rfind(", ", 0, width) + 1
            assert at > len(indent), line
            lines.append(line[:at])
            line = indent + line[at:].lstrip()
        lines.append(line)
    return "\n".join(lines)


class Service:
    def __init__(self, key, model):
        self.key, self.model, self.shapes = key, model, model["shapes"]
        self.order, self.seen = [], set()
        for operation in model["operations"].values():
            for side in ("input", "output"):
                if side in operation:
                    self.visit(operation[side]["shape"])

    def visit(self, name):
        """Shapes in an order in which each stands after those that it is made of."""
        shape = self.shapes[name]
        if name in self.seen or shape["type"] in SCALARS:
            return
        self.seen.add(name)
        parts = [m["shape"] for m in shape.get("members", {}).values()]
        parts += [shape[p]["shape"] for p in ("member", "value") if p in shape]
        for part in parts:
            self.visit(part)
        self.order.append(name)

    def cpp_type(self, name):
        shape = self.shapes[name]
        if shape["type"] in SCALARS:
            return SCALARS[shape["type"]][0]
        if shape["type"] == "list":
            return f"List<{self.cpp_type(shape['member']['shape'])}>"
        if shape["type"] == "map":
            return f"Map<{self.cpp_type(shape['value']['shape'])}>"
        return name

    def shape_constant(self, name):
        shape = self.shapes[name]
        if shape["type"] in SCALARS:
            return "wire::aws::" + SCALARS[shape["type"]][1]
        return "k" + name[0].upper() + name[1:]

    def query_name(self, member, shape_name):
        if self.key != "sqs":
            return member
        if member in SQS_ELEMENT_SHAPE_NAMES:
            return self.shapes[shape_name]["member"]["shape"]
        return SQS_QUERY_NAMES.get(member, member)

    def flattened(self, name):
        if self.shapes[name].get("flattened"):
            return True
        members = [m for s in self.shapes.values() for m in s.get("members", {}).values()]
        uses = [m.get("flattened", False) for m in members if m["shape"] == name]
        assert all(uses) or not any(uses), name
        return bool(uses) and all(uses)

    def struct(self, name):
        lines = [f"struct {name} {{"]
        shape = self.shapes[name]
        for member, of in shape["members"].items():
            required = "  // required" if member in shape.get("required", []) else ""
            lines.append(f"  {self.cpp_type(of['shape'])} {snake(member)};{required}")
        lines.append("};")
        return "\n".join(lines)

    def table(self, name):
        shape, constant = self.shapes[name], self.shape_constant(name)
        if shape["type"] == "structure":
            if not shape["members"]:
                return f'constexpr Shape {constant}{{"{name}", Kind::Structure, sizeof({name})}};'
            rows = []
            for member, of in shape["members"].items():
                required = "true" if member in shape.get("required", []) else "false"
                rows.append(f'    {{"{member}", "\\"{member}\\":", "{self.query_name(member, of["shape"])}", '
                            f'&{self.shape_constant(of["shape"])}, offsetof({name}, {snake(member)}), {required}}},')
            body = "\n".join(rows)
            return (f"constexpr Member {constant}Members[] = {{\n{body}\n}};\n"
                    f'constexpr Shape {constant}{{"{name}", Kind::Structure, sizeof({name}), {constant}Members}};')
        flattened = "true" if self.flattened(name) else "false"
        if shape["type"] == "list":
            element = shape["member"]
            element_name = "" if flattened == "true" else element.get("locationName", "member")
            size = f"sizeof({self.cpp_type(element['shape'])})"
            return (f'constexpr Shape {constant}{{"{name}", Kind::List, {size}, {{}}, '
                    f'&{self.shape_constant(element["shape"])}, 0, {flattened}, "{element_name}"}};')
        entry = f"Entry<{self.cpp_type(shape['value']['shape'])}>"
        if self.key == "sqs":
            key, value = SQS_MAP_NAMES.get(name, ("Name", "Value"))
        else:
            key, value = shape["key"].get("locationName", "key"), shape["value"].get("locationName", "value")
        element_name = "" if flattened == "true" else "entry"
        return (f'constexpr Shape {constant}{{"{name}", Kind::Map, sizeof({entry}), {{}}, '
                f'&{self.shape_constant(shape["value"]["shape"])}, offsetof({entry}, value), {flattened}, '
                f'"{element_name}", "{key}", "{value}"}};')

    def header(self):
        operations = self.model["operations"]
        text = f"""// Generated by tools/generate_operations.py from the {self.key} model: actions, structures. Do not edit.
// clang-format off
#pragma once

#include <cstdint>

#include "api/aws/operation.h"
#include "wire/aws_shape/shape.h"

namespace fanfare::api::{self.key} {{

enum class Action : std::uint8_t {{
"""
        text += "".join(f"  {name},\n" for name in sorted(operations))
        text += f"""}};

extern const aws::ServiceModel kModel;

namespace model {{

using wire::aws::Bytes;
using wire::aws::Entry;
using wire::aws::Flag;
using wire::aws::List;
using wire::aws::Map;
using wire::aws::Number;
using wire::aws::Real;
using wire::aws::Text;
using wire::aws::Time;

"""
        structures = [n for n in self.order if self.shapes[n]["type"] == "structure"]
        text += "\n\n".join(self.struct(n) for n in structures)
        text += """

}  // namespace model

/// The structures of an action: what it takes and gives; void where the model names none.
template <Action>
struct Types;
"""
        for name, operation in sorted(operations.items()):
            of = {side: (f"model::{operation[side]['shape']}" if side in operation else "void")
                  for side in ("input", "output")}
            text += f"template <>\nstruct Types<Action::{name}> {{\n"
            text += f"  using Input = {of['input']};\n  using Output = {of['output']};\n}};\n"
        text += f"\n}}  // namespace fanfare::api::{self.key}\n"
        return text

    def source(self):
        metadata, about = self.model["metadata"], SERVICES[self.key]
        namespace = about["namespace"] or metadata["xmlNamespace"]
        rows = []
        for name, operation in sorted(self.model["operations"].items()):
            of = {side: ("&" + self.shape_constant(operation[side]["shape"]) if side in operation else "nullptr")
                  for side in ("input", "output")}
            rows.append(f'    {{"{name}", aws::Service::{self.key.capitalize()}, '
                        f'static_cast<std::uint8_t>(Action::{name}), '
                        f'{of["input"]}, {of["output"]}}},')
        tables = "\n".join(self.table(n) for n in self.order)
        body = "\n".join(rows)
        return f"""// Generated by tools/generate_operations.py from the {self.key} model: the operations. Do not edit.
#include <cstddef>

#include "api/aws/{self.key}_model.h"

// clang-format off
namespace fanfare::api::{self.key} {{
namespace {{

using namespace model;
using wire::aws::Kind;
using wire::aws::Member;
using wire::aws::Shape;

{tables}

constexpr aws::Operation kOperations[] = {{
{body}
}};

}}  // namespace

constinit const aws::ServiceModel kModel{{
    aws::Service::{self.key.capitalize()}, "{about.get('name', self.key)}", "{metadata['apiVersion']}", "{namespace}", "{about['target']}", kOperations}};

}}  // namespace fanfare::api::{self.key}
"""


# What an extract keeps of a model; members and elements keep what is in KEPT_OF_PARTS.
KEPT_OF_METADATA = ("apiVersion", "serviceId", "xmlNamespace")
KEPT_OF_OPERATIONS = ("input", "output", "errors")
KEPT_OF_SHAPES = ("type", "flattened", "exception", "error", "required", "members", "member", "key", "value")
KEPT_OF_PARTS = ("shape", "locationName", "flattened", "resultWrapper")


def kept(of, names):
    return {name: of[name] for name in names if name in of}


def extract(key, model):
    """The text of src/api/KEY/model.json: one operation or shape a line."""
    def operation(of):
        out = kept(of, KEPT_OF_OPERATIONS)
        for side in ("input", "output"):
            if side in out:
                out[side] = kept(out[side], KEPT_OF_PARTS)
        if "errors" in out:
            out["errors"] = [kept(error, KEPT_OF_PARTS) for error in out["errors"]]
        return out

    def shape(of):
        out = kept(of, KEPT_OF_SHAPES)
        for part in ("member", "key", "value"):
            if part in out:
                out[part] = kept(out[part], KEPT_OF_PARTS)
        if "members" in out:
            out["members"] = {name: kept(member, KEPT_OF_PARTS) for name, member in out["members"].items()}
        return out

    def lines(of, what):
        return ",\n".join(f"    {json.dumps(name)}: {json.dumps(what(one))}" for name, one in sorted(of.items()))

    about = (f"An extract of the {model['metadata']['serviceFullName']} service model that AWS publishes with its SDKs "
             "(botocore's service-2.json, Apache License 2.0): operations, members and errors, without texts, patterns and "
             "ranges. Written by tools/generate_operations.py; do not edit.")
    return (f'{{\n  "about": {json.dumps(about)},\n  "metadata": {json.dumps(kept(model["metadata"], KEPT_OF_METADATA))},\n'
            f'  "operations": {{\n{lines(model["operations"], operation)}\n  }},\n'
            f'  "shapes": {{\n{lines(model["shapes"], shape)}\n  }}\n}}\n')


def extracts_of(models):
    """Path -> text, of those services whose whole models are there."""
    return {OWN_MODELS / key / "model.json": extract(key, json.loads((models / f"{key}.json").read_text()))
            for key in SERVICES if key != "cloudwatch"}


def generated():
    """Path -> text."""
    files = {}
    for key in SERVICES:
        service = Service(key, json.loads((OWN_MODELS / key / "model.json").read_text()))
        files[OWN_MODELS / f"aws/{key}_model.h"] = wrapped(service.header())
        files[OWN_MODELS / f"aws/{key}_model.cpp"] = wrapped(service.source())
    return files


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    root = OWN_MODELS.parent.parent
    if sys.argv[1:] != ["--check"]:
        if len(sys.argv) == 2:
            for path, text in extracts_of(pathlib.Path(sys.argv[1])).items():
                path.write_text(text)
        for path, text in generated().items():
            path.write_text(text)
        return
    beside = [p / "shared/data/aws-models" for p in (root.parent, root.parent.parent)]
    models = next((p for p in beside if p.is_dir()), None)
    expected = generated() | (extracts_of(models) if models else {})
    stale = [str(path.relative_to(root)) for path, text in expected.items()
             if not path.exists() or path.read_text() != text]
    if stale:
        sys.exit(f"not what they come from gives: {', '.join(stale)}; run tools/generate_operations.py {models or ''}")


if __name__ == "__main__":
    main()
