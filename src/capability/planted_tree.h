// For tests: a small tree of files that stands for a machine.
#pragma once

#include <string_view>

#include "capability/system.h"

namespace kvet::capability {

class PlantedTree {
 public:
  PlantedTree();
  ~PlantedTree();
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;

  void plant(std::string_view absolute, std::string_view content) const;
  void remove(std::string_view absolute) const;  // a file, or a folder with all in it; it must be there

  System system;
};

}  // namespace kvet::capability
