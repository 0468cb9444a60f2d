#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "capability/planted_tree.h"

namespace kvet::capability {

PlantedTree::PlantedTree() {
  std::string pattern = ::testing::TempDir() + "kvet_tree_XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  system.root = pattern;
}

PlantedTree::~PlantedTree() { std::filesystem::remove_all(system.root); }

void PlantedTree::plant(std::string_view absolute, std::string_view content) const {
  const std::filesystem::path path(system.path(absolute));
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

void PlantedTree::remove(std::string_view absolute) const {
  EXPECT_GT(std::filesystem::remove_all(system.path(absolute)), 0U) << absolute;
}

}  // namespace kvet::capability
