#include "verdict/comparison.h"

#include <fmt/core.h>

#include <algorithm>

#include "questions/isolated.h"
#include "questions/locality.h"

namespace kvet::verdict {
namespace {

// A path as a shell takes it, for commands to copy.
std::string quoted(const std::string& path) {
  if (path.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+,:@%") ==
      std::string::npos) {
    return path;
  }
  std::string text = "'";
  for (char letter : path) {
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return text + "'";
}

// The block of an arm whose level 3 is the middle one: neither a lucky nor an unlucky run speaks for the arm.
const BlockSummary* middle_block(const std::vector<BlockSummary>& blocks, Arm arm) {
  std::vector<const BlockSummary*> own;
  for (const BlockSummary& block : blocks) {
    if (block.arm == arm && block.identity.kind != "aa" && block.set_time_per_step_ns) {
      own.push_back(&block);
    }
  }
  std::sort(own.begin(), own.end(), [](const BlockSummary* a, const BlockSummary* b) {
    return *a->set_time_per_step_ns < *b->set_time_per_step_ns;
  });
  return own.empty() ? nullptr : own[own.size() / 2];
}

// The candidate against counters that another tool read; each finding goes to its question's line.
void add_profile(Verdict& verdict, const Capture& capture, const questions::KernelSet& set,
                 const IsolatedProfile& profile) {
  std::vector<Finding> answered;
  for (const QuestionLine& line : verdict.questions) {
    answered.insert(answered.end(), line.candidate.begin(), line.candidate.end());
  }
  for (Finding& finding : questions::against_profile(capture, set, profile, answered)) {
    for (QuestionLine& line : verdict.questions) {
      if (line.question == finding.question) {
        line.candidate.push_back(std::move(finding));
        break;
      }
    }
  }
}

// The part that counts.
void cut(Capture& capture) {
  const Window window = window_of(capture);
  if (window.stated) {
    capture = questions::within_window(capture, window.span.from, window.span.to);
  }
}

Result<void> answer_questions(Verdict& verdict, const std::vector<BlockSummary>& blocks, const Frame& frame,
                              const Loader& load, const ComparisonOptions& options) {
  struct Asked {
    Question question;
    std::vector<Finding> (*ask)(const Capture&, const questions::KernelSet&);
  };
  constexpr Asked all[] = {{Question::occupancy, questions::occupancy},
                           {Question::dram, questions::dram},
                           {Question::dispatch, questions::dispatch},
                           {Question::nccl, questions::nccl}};
  for (const Asked& asked : all) {
    verdict.questions.push_back({asked.question, {}, {}});
  }
  for (Arm arm : {Arm::baseline, Arm::candidate}) {
    const BlockSummary* block = middle_block(blocks, arm);
    if (block == nullptr) {
      continue;
    }
    auto capture = load({block->path, arm});
    if (!capture) {
      return std::unexpected(capture.error());
    }
    cut(*capture);
    const questions::KernelSet set = frame.set.in(*capture);
    for (size_t i = 0; i < std::size(all); ++i) {
      auto& line = verdict.questions[i];
      (arm == Arm::baseline ? line.baseline : line.candidate) = all[i].ask(*capture, set);
    }
    if (arm == Arm::candidate && options.isolated_profile) {
      add_profile(verdict, *capture, set, *options.isolated_profile);
    }
    if (arm == Arm::candidate && !options.isolated.empty()) {
      auto alone = load({options.isolated, arm});
      if (!alone) {
        return std::unexpected(alone.error());
      }
      cut(*alone);
      verdict.questions[1].candidate.push_back(questions::locality(*capture, set, *alone, frame.set.in(*alone)));
    }
    if (arm == Arm::candidate) {
      verdict.look_further.push_back(fmt::format("kvet report {}", quoted(block->path)));
    }
  }
  return {};
}

// What to type next: the report of the middle candidate block, and the list of kernels of both arms.
void add_commands(Verdict& verdict) {
  if (!verdict.captures_baseline.empty() && !verdict.captures_candidate.empty()) {
    verdict.look_further.push_back(fmt::format("kvet kernels {} {}", quoted(verdict.captures_baseline.front()),
                                               quoted(verdict.captures_candidate.front())));
  }
}

}  // namespace

Result<Verdict> compare(const std::vector<Input>& inputs, const ComparisonOptions& options, const Loader& load) {
  auto frame = find_frame(inputs, options.frame, load);
  if (!frame) {
    return std::unexpected(frame.error());
  }
  auto blocks = summarise_all(inputs, *frame, load);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  DecisionInput decision = options.decision;
  for (const BlockSummary& block : *blocks) {
    if (!decision.claim) {
      decision.claim = block.identity.claim;
      decision.claim_source = block.identity.claim_source;
    }
    if (decision.fixed_quads == 0 && block.identity.fixed_quads) {
      decision.fixed_quads = *block.identity.fixed_quads;
    }
    if (decision.isolated.empty()) {
      decision.isolated = block.identity.isolated;
      if (!block.identity.recorded_arm.empty() && block.identity.recorded_arm != name(block.arm)) {
        for (double& ratio : decision.isolated) {
          ratio = -ratio;  // recorded with the arms the other way round
        }
      }
    }
  }
  auto verdict = decide(*blocks, frame->set, frame->steps, decision);
  if (!verdict) {
    return verdict;
  }
  if (auto answered = answer_questions(*verdict, *blocks, *frame, load, options); !answered) {
    return std::unexpected(answered.error());
  }
  add_commands(*verdict);
  return verdict;
}

}  // namespace kvet::verdict
