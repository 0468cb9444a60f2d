// Text from captures inside GitHub-flavoured Markdown: it stays text. It opens no tag, ends no cell, makes no link and calls
// nobody. Control characters are spelled out as safe_text does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kvet::report {

// Prose. Everything that Markdown or GitHub could take for markup is written so that it shows as itself: characters with a
// meaning as entities or behind a backslash; after "@", "#" and inside "://" and "www." a zero-width space, since GitHub
// looks for mentions, issues and links in what comes out.
[[nodiscard]] std::string markdown_text(std::string_view raw, size_t max_columns = 1000);

// A code span, in which GitHub looks for nothing. Backticks and pipes, which would end it or a table's cell, are spelled
// out (\x60, \x7c).
[[nodiscard]] std::string markdown_code(std::string_view raw, size_t max_columns = 100);

// Lines of a command to copy, as a block of code of its own.
[[nodiscard]] std::string markdown_commands(const std::vector<std::string>& commands);

// A table; the cells are Markdown already. Columns that `right` names by a 1 are numbers.
[[nodiscard]] std::string markdown_table(const std::vector<std::string>& head, std::string_view right,
                                         const std::vector<std::vector<std::string>>& rows);

// Shown when the reader opens it. `summary` is Markdown-free text, `body` Markdown.
[[nodiscard]] std::string markdown_details(std::string_view summary, const std::string& body);

}  // namespace kvet::report
