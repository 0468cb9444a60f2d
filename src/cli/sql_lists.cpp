#include "cli/sql_lists.h"

#include "base/safe_text.h"
#include "report/layout.h"
#include "report/rows.h"
#include "store/documented_queries.h"
#include "store/views.h"

namespace kvet::cli {
namespace {

constexpr size_t page_width = 100, name_columns = 40, unit_columns = 16;

report::RowFormat rows_as(SqlFormat format) {
  return format == SqlFormat::csv    ? report::RowFormat::csv
         : format == SqlFormat::json ? report::RowFormat::json
                                     : report::RowFormat::jsonl;
}

std::string joined(const std::vector<std::string>& parameters) {
  std::string text;
  for (const std::string& parameter : parameters) {
    text += (text.empty() ? ":" : ", :") + parameter;
  }
  return text;
}

}  // namespace

void list_queries(SqlFormat format, RowOutput& output) {
  if (format != SqlFormat::table) {
    const auto writer = report::make_row_writer(
        rows_as(format), {"name", "parameters", "prose", "sql"}, [&](std::string_view piece) { output.write(piece); },
        false);
    for (const store::DocumentedQuery& query : store::documented_queries()) {
      const std::string prose = prose_of(query), parameters = joined(parameters_of(query));
      writer->row({query.name, std::string_view(parameters), std::string_view(prose), query.sql});
    }
    writer->end();
    return;
  }
  report::Page page(page_width, false);
  for (const store::DocumentedQuery& query : store::documented_queries()) {
    const std::string parameters = joined(parameters_of(query));
    page.line(std::string(query.name) + (parameters.empty() ? "" : "  " + parameters));
    page.paragraph(prose_of(query), "    ", "    ");
  }
  output.write(page.text());
}

void list_views(SqlFormat format, RowOutput& output) {
  if (format != SqlFormat::table) {
    const auto writer = report::make_row_writer(
        rows_as(format), {"view", "column", "unit", "prose"}, [&](std::string_view piece) { output.write(piece); },
        false);
    for (const store::View& view : store::views()) {
      for (const store::ViewColumn& column : view.columns) {
        writer->row({std::string_view(view.name), std::string_view(column.name), std::string_view(column.unit),
                     std::string_view(column.prose)});
      }
    }
    writer->end();
    return;
  }
  report::Page page(page_width, false);
  for (const store::View& view : store::views()) {
    page.paragraph(view.prose, view.name + ": ", "  ");
    for (const store::ViewColumn& column : view.columns) {
      page.paragraph(column.prose, pad_right("  " + column.name, name_columns) + pad_right(column.unit, unit_columns),
                     std::string(name_columns + unit_columns, ' '));
    }
  }
  output.write(page.text());
}

}  // namespace kvet::cli
