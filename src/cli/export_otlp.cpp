// kvet export --format otlp
#include "export/otlp.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/output_file.h"
#include "base/terminal.h"
#include "base/version.h"
#include "cli/export_formats.h"
#include "cli/metrics_source.h"
#include "export/otlp_delivery.h"
#include "questions/steps.h"

namespace kvet::cli {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

exporting::TraceSteps steps_of(const Capture& capture) {
  const questions::Steps steps = questions::find_steps(capture, std::string{capture.fact("experiment.step")});
  exporting::TraceSteps out;
  out.host_time = steps.host_time;
  for (const auto& [process, spans] : steps.spans) {
    for (const questions::Span& span : spans) {
      out.spans[process].emplace_back(span.from, span.to);
    }
  }
  return out;
}

// Where the bodies go: to a receiver, or one after another into a file.
class Destination {
 public:
  static Result<Destination> open(const ExportOptions& options) {
    const std::string url = options.endpoint.empty() && options.output.empty()
                                ? std::string{environment("OTEL_EXPORTER_OTLP_ENDPOINT")}
                                : options.endpoint;
    Destination out;
    if (!url.empty()) {
      const auto endpoint = exporting::otlp_endpoint({url, environment("OTEL_EXPORTER_OTLP_HEADERS"),
                                                      environment("OTEL_EXPORTER_OTLP_TIMEOUT"),
                                                      environment("OTEL_EXPORTER_OTLP_COMPRESSION")});
      if (!endpoint) {
        return std::unexpected(endpoint.error());
      }
      auto client = exporting::HttpClient::open();
      if (!client) {
        return std::unexpected(client.error());
      }
      out.client_ = std::make_unique<exporting::HttpClient>(std::move(*client));
      out.delivery_.emplace(
          *endpoint, [http = out.client_.get()](const exporting::HttpRequest& request) { return http->post(request); },
          [](int64_t milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); });
      return out;
    }
    if (options.metrics && options.traces) {
      return fail(ErrorKind::usage, "holds one signal, since metrics and traces are different messages", "a file",
                  "Add `--signals metrics` or `--signals traces`, or send both with --endpoint");
    }
    if (options.output.empty() && ::isatty(STDOUT_FILENO) == 1) {
      return fail(ErrorKind::usage, "OTLP is binary and would not do a terminal good", "standard output",
                  "Give --endpoint, a file with -o, or a pipe");
    }
    auto file = OutputFile::create(options.output);
    if (!file) {
      return std::unexpected(file.error());
    }
    out.file_.emplace(std::move(*file));
    return out;
  }

  exporting::TakeBody taker(std::string_view signal) {
    return [this, signal](std::string_view body, size_t items) -> Result<void> {
      ++requests_;
      items_ += items;
      if (delivery_) {
        return delivery_->send(signal, body, items);
      }
      file_->write(body);
      return {};
    };
  }

  Result<void> finish() {
    if (file_) {
      return file_->finish();
    }
    if (delivery_->rejected() > 0) {
      print_warning(fmt::format("the receiver rejected {} of {} points and spans: {}", delivery_->rejected(), items_,
                                delivery_->last_message()));
    } else if (!delivery_->last_message().empty()) {
      print_warning("the receiver says: " + delivery_->last_message());
    }
    if (const std::string doubts = delivery_->doubts(); !doubts.empty()) {
      print_warning(doubts);
    }
    print_note(fmt::format("{} points and spans sent in {} requests", items_, requests_));
    return {};
  }

 private:
  std::unique_ptr<exporting::HttpClient> client_;
  std::optional<exporting::OtlpDelivery> delivery_;
  std::optional<OutputFile> file_;
  size_t requests_ = 0, items_ = 0;
};

Result<void> write_all(Capture& capture, const exporting::WallClock& clock, const ExportOptions& options,
                       Destination& destination) {
  const exporting::OtlpSource about{&capture, &clock, version()};
  const auto label = kernel_labels(capture);
  if (options.traces) {  // first: the findings cut the capture to their window
    const exporting::SpansSource spans{&capture, steps_of(capture), label};
    if (auto sent = exporting::write_otlp_spans(about, spans, destination.taker("traces")); !sent) {
      return sent;
    }
  }
  if (options.metrics) {
    const auto source = metrics_source(capture, options.kernels);
    if (!source) {
      return std::unexpected(source.error());
    }
    const auto metrics = exporting::metrics_of(*source, exporting::Readings::every);
    if (auto sent = exporting::write_otlp_metrics(about, metrics, destination.taker("metrics")); !sent) {
      return sent;
    }
  }
  return {};
}

}  // namespace

Result<void> export_otlp(Capture& capture, const ExportOptions& options) {
  auto destination = Destination::open(options);
  if (!destination) {
    return std::unexpected(destination.error());
  }
  const exporting::WallClock clock(capture);
  auto written = write_all(capture, clock, options, *destination);
  if (written) {
    written = destination->finish();
  }
  if (written && !clock.known()) {  // a failure is one line
    print_note("the file does not say when it was recorded: its times count from 1970-01-01");
  }
  return written;
}

}  // namespace kvet::cli
