#include "import/entities.h"

#include <gtest/gtest.h>

#include "import/recording_sink.h"

namespace kvet::importing {
namespace {

TEST(Entities, GivesAProcessPerFileAndPid) {
  RecordingSink sink;
  Entities entities(sink);
  const ProcessId first = entities.process(0, 100);
  EXPECT_EQ(entities.process(0, 100), first);
  const ProcessId other_file = entities.process(1, 100);
  const ProcessId other_pid = entities.process(0, 101);
  EXPECT_NE(other_file, first);
  EXPECT_NE(other_pid, first);
  EXPECT_NE(other_pid, other_file);
  ASSERT_EQ(sink.processes.size(), 3u);
  EXPECT_EQ(sink.processes[2].pid, 101);
  EXPECT_EQ(sink.processes[2].id, other_pid);
}

TEST(Entities, GivesADevicePerUuidAndElsePerPlaceAndOrdinal) {
  RecordingSink sink;
  Entities entities(sink);
  const std::array<uint8_t, 16> uuid{1, 2, 3};
  const DeviceId known = entities.device(uuid);
  EXPECT_EQ(entities.device(uuid), known);
  const DeviceId zero = entities.device("rank0.json", 0);
  EXPECT_EQ(entities.device("rank0.json", 0), zero);
  EXPECT_NE(entities.device("rank1.json", 0), zero);
  EXPECT_NE(entities.device("rank0.json", 1), zero);
  EXPECT_EQ(entities.devices(), 4u);
  ASSERT_EQ(sink.devices.size(), 4u);
  EXPECT_EQ(sink.devices[0].uuid, uuid);
}

TEST(Entities, DescribesAgainUnderTheSameId) {
  RecordingSink sink;
  Entities entities(sink);
  entities.device("file", 0);
  const DeviceId second = entities.device("file", 1);
  Device facts;
  facts.multiprocessors = 132;
  entities.describe(second, facts);
  ASSERT_EQ(sink.devices.size(), 3u);
  EXPECT_EQ(sink.devices[2].id, second);
  EXPECT_EQ(sink.devices[2].multiprocessors, 132u);
}

TEST(Entities, TellsShapesApartByEveryField) {
  RecordingSink sink;
  Entities entities(sink);
  KernelShape shape;
  shape.name = StringId{7};
  shape.grid = {1, 1, 1};  // with an axis of 0 all of it is unknown
  const ShapeId first = entities.shape(shape);
  shape.id = ShapeId{99};  // says nothing
  EXPECT_EQ(entities.shape(shape), first);
  KernelShape grid = shape, cluster = shape, registers = shape, hash = shape, local = shape;
  grid.grid[2] = 2;
  cluster.cluster[0] = 2;
  registers.registers_per_thread = 1;
  hash.code_hash = 1;
  local.local_bytes_per_thread = 1;
  for (const KernelShape& other : {grid, cluster, registers, hash, local}) {
    const ShapeId id = entities.shape(other);
    EXPECT_NE(id, first);
    EXPECT_EQ(entities.shape(other), id);
  }
  EXPECT_EQ(sink.shapes.size(), 6u);  // each once
}

}  // namespace
}  // namespace kvet::importing
