#include "validate/journal.h"

#include <algorithm>

#include "base/output_file.h"
#include "report/json.h"
#include "validate/result_files.h"

namespace kvet::validate {
namespace {

using report::Json;
constexpr const char* schema = "kvet.blocks/1";

std::optional<BlockKind> kind_from(std::string_view text) {
  for (BlockKind kind : {BlockKind::ab, BlockKind::aa, BlockKind::unrecorded}) {
    if (text == name(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

std::optional<verdict::Arm> arm_from(std::string_view text) {
  for (verdict::Arm arm : {verdict::Arm::baseline, verdict::Arm::candidate}) {
    if (text == verdict::name(arm)) {
      return arm;
    }
  }
  return std::nullopt;
}

std::string text_of(const Json& json) { return std::string(json.string().value_or("")); }

Json block_json(const BlockResult& result) {
  Json json = Json::object();
  json.set("kind", name(result.block.kind)).set("arm", verdict::name(result.block.arm));
  json.set("quad", result.block.quad).set("position", result.block.position).set("capture", result.capture);
  json.set("metric", result.metric).set("load_from_ns", result.load_from_ns).set("load_to_ns", result.load_to_ns);
  return json.set("duration_ns", result.duration_ns).set("repeated", result.repeated);
}

std::optional<BlockResult> block_from(const Json& json) {
  auto kind = kind_from(text_of(json["kind"]));
  auto arm = arm_from(text_of(json["arm"]));
  auto quad = json["quad"].integer(), position = json["position"].integer();
  if (!kind || !arm || !quad || !position || *quad < 0 || *quad > 1'000'000 || *position < 0 || *position > 3) {
    return std::nullopt;
  }
  BlockResult result;
  result.block = {*kind, *arm, static_cast<uint32_t>(*quad), static_cast<uint32_t>(*position)};
  result.capture = text_of(json["capture"]);
  result.metric = json["metric"].number();
  result.load_from_ns = json["load_from_ns"].integer().value_or(0);
  result.load_to_ns = json["load_to_ns"].integer().value_or(0);
  result.duration_ns = json["duration_ns"].integer().value_or(0);
  result.repeated = static_cast<uint32_t>(std::clamp<int64_t>(json["repeated"].integer().value_or(0), 0, 100));
  // Only files that this program names are read back.
  const std::string expected = *kind == BlockKind::unrecorded ? "" : "captures/" + name(result.block) + ".kvet";
  return result.capture == expected ? std::optional(result) : std::nullopt;
}

}  // namespace

const BlockResult* Journal::find(const Block& block) const {
  auto found =
      std::find_if(blocks.begin(), blocks.end(), [&](const BlockResult& result) { return result.block == block; });
  return found == blocks.end() ? nullptr : &*found;
}

std::string journal_path(const std::string& folder) { return folder + "/blocks.json"; }

Result<void> save(const Journal& journal, const std::string& folder) {
  Json isolated = Json::array(), blocks = Json::array();
  for (const IsolatedRun& run : journal.isolated) {
    Json one = Json::object();
    isolated.push(one.set("arm", verdict::name(run.arm)).set("pair", run.pair).set("value", run.value));
  }
  for (const BlockResult& result : journal.blocks) {
    blocks.push(block_json(result));
  }
  Json root = Json::object();
  root.set("schema", schema).set("experiment", journal.experiment).set("plan", journal.plan);
  root.set("check_baseline", journal.check_baseline).set("check_candidate", journal.check_candidate);
  root.set("isolated", std::move(isolated)).set("blocks", std::move(blocks));
  return write_whole_file(journal_path(folder), root.dump(1) + "\n");
}

Result<Journal> load_journal(const std::string& folder) {
  const std::string path = journal_path(folder);
  auto text = read_file(path);
  if (!text) {
    return std::unexpected(text.error());
  }
  auto root = Json::parse(*text, path);
  if (!root) {
    return std::unexpected(root.error());
  }
  if (text_of((*root)["schema"]) != schema) {
    return fail(ErrorKind::bad_input, "is not a list of blocks of this version of kvet", path,
                "begin anew in another folder");
  }
  Journal journal;
  journal.experiment = text_of((*root)["experiment"]);
  journal.plan = text_of((*root)["plan"]);
  journal.check_baseline = text_of((*root)["check_baseline"]);
  journal.check_candidate = text_of((*root)["check_candidate"]);
  for (const Json& one : (*root)["isolated"].elements()) {
    auto arm = arm_from(text_of(one["arm"]));
    auto pair = one["pair"].integer();
    auto value = one["value"].number();
    if (arm && pair && value && *value > 0 && *pair >= 0) {
      journal.isolated.push_back({*arm, static_cast<uint32_t>(*pair), *value});
    }
  }
  for (const Json& one : (*root)["blocks"].elements()) {
    auto block = block_from(one);
    if (!block) {
      return fail(ErrorKind::bad_input, "lists a block that does not make sense", path, "begin anew in another folder");
    }
    journal.blocks.push_back(std::move(*block));
  }
  return journal;
}

}  // namespace kvet::validate
