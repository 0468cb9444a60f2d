// Runs one thread of kvet's own PTX on the CPU, for tests: what it reads and writes is held against what it should. Knows the
// instructions that these kernels use, and throws at any other.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvet::gpu_work {

struct PtxMemory {
  std::map<uint64_t, uint32_t> words;
  std::map<uint64_t, uint32_t> loads, stores;  // of each word: how often
  uint64_t load(uint64_t address, int bytes) {
    ++loads[address];
    return bytes == 8 ? uint64_t{words[address + 4]} << 32 | words[address] : words[address];
  }
  void store(uint64_t address, uint64_t value, int bytes) {
    ++stores[address];
    words[address] = static_cast<uint32_t>(value);
    if (bytes == 8) {
      words[address + 4] = static_cast<uint32_t>(value >> 32);
    }
  }
};

class PtxThread {
 public:
  // `arguments` in the order of the entry's parameters.
  PtxThread(const std::string& module, const std::string& entry, std::vector<uint64_t> arguments) {
    size_t at = module.find(".entry " + entry + "(");
    if (at == std::string::npos) {
      throw std::runtime_error("no entry " + entry);
    }
    const std::string body = module.substr(at, module.find("\n}", at) - at);
    for (size_t p = body.find(".param "), n = 0; p < body.find(')'); p = body.find(".param ", p + 1), ++n) {
      const size_t name = p + 12;  // behind ".param .u64 "
      parameters_[body.substr(name, body.find_first_of(",)", name) - name)] = arguments.at(n);
    }
    for (size_t begin = body.find('{') + 1; begin < body.size();) {
      const size_t end = std::min(body.find('\n', begin), body.size());
      std::string line = body.substr(begin, end - begin);
      begin = end + 1;
      line.erase(0, line.find_first_not_of(' '));
      if (line.ends_with(':')) {
        labels_[line.substr(0, line.size() - 1)] = lines_.size();
      } else if (!line.empty() && !line.starts_with(".") && !line.starts_with("//")) {
        lines_.push_back(line);
      }
    }
  }

  void set(const std::string& special, uint64_t value) { registers_[special] = value; }
  uint64_t timer = 1000;  // %globaltimer; moves by one with each reading

  void run(PtxMemory& memory) {
    uint64_t steps = 0;
    for (size_t next = 0; next < lines_.size();) {
      if (++steps > 10'000'000) {
        throw std::runtime_error("does not end");
      }
      std::string line = lines_[next++];
      if (line.starts_with("@")) {
        const bool negated = line[1] == '!';
        const size_t space = line.find(' ');
        const bool holds = registers_[line.substr(negated ? 2 : 1, space - (negated ? 2 : 1))] != 0;
        if (holds == negated) {
          continue;
        }
        line.erase(0, space + 1);
      }
      line.erase(line.find(';'));
      const std::string operation = line.substr(0, line.find(' '));
      if (operation == "ret") {
        return;
      }
      const auto operands = split_operands(line.substr(operation.size()));
      if (operation == "bra") {
        next = labels_.at(operands[0]);
      } else {
        execute(operation, operands, memory);
      }
    }
  }

 private:
  static std::vector<std::string> split_operands(const std::string& text) {
    std::vector<std::string> parts(1);
    bool inside = false;
    for (const char c : text) {
      inside = (inside || c == '{') && c != '}';
      if (c == ',' && !inside) {
        parts.emplace_back();
      } else if (c != ' ' && c != '{' && c != '}') {
        parts.back() += c;
      }
    }
    return parts;
  }

  uint64_t value(const std::string& operand) {
    if (operand == "%globaltimer") {
      return timer++;
    }
    return operand.starts_with('%') ? registers_.at(operand) : std::stoull(operand, nullptr, 0);
  }
  uint64_t address(const std::string& operand) {  // "[%a+8]"
    const size_t plus = operand.find('+'), end = operand.find(']');
    const uint64_t offset = plus == std::string::npos ? 0 : std::stoull(operand.substr(plus + 1, end - plus - 1));
    return value(operand.substr(1, std::min(plus, end) - 1)) + offset;
  }

  void execute(const std::string& operation, const std::vector<std::string>& operands, PtxMemory& memory) {
    const bool narrow = operation.ends_with("32");
    const int bytes = narrow ? 4 : 8;
    const auto is = [&](std::string_view start) { return operation.starts_with(start); };
    const auto put = [&](uint64_t result) { registers_[operands[0]] = narrow ? result & 0xffffffff : result; };
    if (is("ld.param")) {
      put(parameters_.at(operands[1].substr(1, operands[1].size() - 2)));
    } else if (is("ld.") && operation.find(".v4") != std::string::npos) {
      vector(operands[0], [&](const std::string& part, uint64_t i) {
        registers_[part] = memory.load(address(operands[1]) + 4 * i, 4);
      });
    } else if (is("ld.")) {
      put(memory.load(address(operands[1]), bytes));
    } else if (is("st.") && operation.find(".v4") != std::string::npos) {
      vector(operands[1],
             [&](const std::string& part, uint64_t i) { memory.store(address(operands[0]) + 4 * i, value(part), 4); });
    } else if (is("st.")) {
      memory.store(address(operands[0]), value(operands[1]), bytes);
    } else if (is("membar") || is("bar.sync")) {
      return;  // one thread
    } else if (is("mov")) {
      put(value(operands[1]));
    } else if (operation == "cvt.u64.u32" || operation == "cvt.u32.u64") {
      registers_[operands[0]] = value(operands[1]) & 0xffffffff;
    } else if (is("not")) {
      put(~value(operands[1]));
    } else {
      two_operands(operation, value(operands[1]), value(operands[2]), operands[0], narrow);
    }
  }

  void two_operands(const std::string& operation, uint64_t a, uint64_t b, const std::string& target, bool narrow) {
    const auto is = [&](std::string_view start) { return operation.starts_with(start); };
    uint64_t result;
    if (is("mul.wide.u32")) {
      registers_[target] = (a & 0xffffffff) * (b & 0xffffffff);
      return;
    }
    if (is("add.")) {
      result = a + b;
    } else if (is("sub.")) {
      result = a - b;
    } else if (is("mul.lo")) {
      result = a * b;
    } else if (is("shl.")) {
      result = a << b;
    } else if (is("shr.u")) {
      result = a >> b;
    } else if (is("and.")) {
      result = a & b;
    } else if (is("xor.")) {
      result = a ^ b;
    } else if (is("setp.ne")) {
      result = a != b;
    } else if (is("setp.eq")) {
      result = a == b;
    } else if (is("setp.ge.u")) {
      result = a >= b;
    } else if (is("setp.gt.u")) {
      result = a > b;
    } else if (is("setp.lt.u")) {
      result = a < b;
    } else {
      throw std::runtime_error("unknown instruction " + operation);
    }
    registers_[target] = narrow ? result & 0xffffffff : result;
  }

  template <class Each>
  static void vector(const std::string& operand, Each each) {
    uint64_t i = 0;
    for (size_t begin = 0; begin < operand.size(); ++i) {
      const size_t end = std::min(operand.find(',', begin), operand.size());
      each(operand.substr(begin, end - begin), i);
      begin = end + 1;
    }
  }

  std::map<std::string, uint64_t> parameters_, registers_;
  std::map<std::string, size_t> labels_;
  std::vector<std::string> lines_;
};

}  // namespace kvet::gpu_work
