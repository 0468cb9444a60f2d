#include "report/kernel_table.h"

#include <algorithm>

#include "base/safe_text.h"
#include "report/format.h"
#include "report/layout.h"
#include "report/names.h"

namespace kvet::report {
namespace {

// "A", "B", … "Z", "27", …
std::string letter(size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1);
}

std::string letters(const std::vector<size_t>& files) {
  std::string text;
  for (size_t file : files) {
    text += (text.empty() ? "" : ",") + letter(file);
  }
  return text;
}

std::string numbers(const std::vector<uint32_t>& values) {
  std::string text;
  for (uint32_t value : values) {
    text += (text.empty() ? "" : ",") + std::to_string(value);
  }
  return text;
}

// Which captures ran it, and whether it is the same code: "" where there is nothing to say.
std::string mark_of(const KernelRow& row, size_t files) {
  if (row.files.size() < files) {
    return "only " + letters(row.files);
  }
  return row.code_differs ? "code differs" : "";
}

}  // namespace

std::string render_text(const KernelTable& table, const RenderOptions& options) {
  Page page(std::max<size_t>(options.width, 80), options.colour);
  for (size_t file = 0; file < table.files.size(); ++file) {
    const std::string path = safe_text(table.files[file], 400);
    page.paragraph(path, table.files.size() > 1 ? letter(file) + ": " : "", "   ");
  }
  page.blank();

  const bool several = table.files.size() > 1;
  const size_t numbers_width = 10 + 10 + 8 + 10 + 7 + 8 + 7;
  const size_t mark_width = several ? 14 : 0;
  const size_t name_width = page.width() - numbers_width - mark_width;
  std::vector<std::string> raw;
  raw.reserve(table.rows.size());
  for (const KernelRow& row : table.rows) {
    raw.push_back(row.name);
  }
  const auto names = short_names(raw, name_width);
  page.line(pad_right("kernel", name_width) + pad_left("runs", 10) + pad_left("total", 10) + pad_left("share", 8) +
                pad_left("mean", 10) + pad_left("shapes", 7) + pad_left("streams", 8) + pad_left("device", 7) +
                (several ? "  run by" : ""),
            Style::bold);
  for (size_t index = 0; index < table.rows.size(); ++index) {
    const KernelRow& row = table.rows[index];
    page.line(pad_right(names[index], name_width) + pad_left(format_count(row.executions), 10) +
              pad_left(format_value(row.time_ns, "ns"), 10) + pad_left(format_value(row.share_percent, "%"), 8) +
              pad_left(format_value(row.mean_ns, "ns"), 10) + pad_left(format_count(row.shapes), 7) +
              pad_left(format_count(row.streams), 8) + pad_left(safe_text(numbers(row.devices), 6), 7) + "  " +
              mark_of(row, table.files.size()));
  }
  page.blank();
  page.line("To pick one of them:", Style::bold);
  std::string patterns;
  for (size_t index = 0; index < table.rows.size(); ++index) {
    // Never cut, even where it is longer than the page: half a pattern matches something else.
    patterns += "  --kernel " + table.rows[index].pattern + "\n";
  }
  return page.text() + patterns;
}

Json render_json(const KernelTable& table, const std::string& kvet_version) {
  Json files = Json::array();
  for (const std::string& file : table.files) {
    files.push(file);
  }
  Json kernels = Json::array();
  for (const KernelRow& row : table.rows) {
    Json devices = Json::array();
    for (uint32_t device : row.devices) {
      devices.push(device);
    }
    Json run_by = Json::array();
    for (size_t file : row.files) {
      run_by.push(file);
    }
    Json entry = Json::object();
    entry.set("name", row.name).set("short_name", short_name(row.name, 100)).set("pattern", row.pattern);
    entry.set("executions", row.executions).set("graph_executions", row.graph_executions).set("time_ns", row.time_ns);
    entry.set("share_percent", row.share_percent)
        .set("mean_ns", row.mean_ns)
        .set("shapes", row.shapes)
        .set("streams", row.streams);
    entry.set("devices", std::move(devices)).set("run_by", std::move(run_by)).set("code_differs", row.code_differs);
    kernels.push(std::move(entry));
  }
  Json root = Json::object();
  root.set("schema", "kvet.kernels/1")
      .set("kvet_version", kvet_version)
      .set("files", std::move(files))
      .set("kernels", std::move(kernels));
  return root;
}

}  // namespace kvet::report
