// Exports NCCL's operations with the prototypes of nccl.h 2.28 and does nothing but make communicators. Its soname is not
// NCCL's: it has to be found by its symbols.
#include <stddef.h>

typedef int ncclResult_t;
typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef void* cudaStream_t;

ncclResult_t look_alike_result = 0;
// The address that the next communicator gets; grows by 256 with each.
unsigned long look_alike_communicator = 0x10000;

static ncclComm_t make(void) {
  ncclComm_t made = (ncclComm_t)look_alike_communicator;
  look_alike_communicator += 256;
  return made;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  (void)ranks, (void)id, (void)rank;
  *comm = make();
  return look_alike_result;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, void* config) {
  (void)ranks, (void)id, (void)rank, (void)config;
  *comm = make();
  return look_alike_result;
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int ids, ncclUniqueId* id, void* config) {
  (void)ranks, (void)rank, (void)ids, (void)id, (void)config;
  *comm = make();
  return look_alike_result;
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  (void)list;
  for (int device = 0; device < devices; ++device) {
    comms[device] = make();
  }
  return look_alike_result;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, void* config) {
  (void)comm, (void)key, (void)config;
  *made = color < 0 ? NULL : make();  // NCCL_SPLIT_NOCOLOR
  return look_alike_result;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, int type, int operation, ncclComm_t comm,
                           cudaStream_t stream) {
  (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)comm, (void)stream;
  return look_alike_result;
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, int type, int operation, ncclComm_t comm,
                               cudaStream_t stream) {
  (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)comm, (void)stream;
  return look_alike_result;
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, int type, int operation, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  (void)send, (void)receive, (void)count, (void)type, (void)operation, (void)root, (void)comm, (void)stream;
  return look_alike_result;
}
#define WITH_ROOT(name)                                                                                 \
  ncclResult_t name(const void* send, void* receive, size_t count, int type, int root, ncclComm_t comm, \
                    cudaStream_t stream) {                                                              \
    (void)send, (void)receive, (void)count, (void)type, (void)root, (void)comm, (void)stream;           \
    return look_alike_result;                                                                           \
  }
WITH_ROOT(ncclBroadcast)
WITH_ROOT(ncclGather)
WITH_ROOT(ncclScatter)
#define WITHOUT_ROOT(name)                                                                                           \
  ncclResult_t name(const void* send, void* receive, size_t count, int type, ncclComm_t comm, cudaStream_t stream) { \
    (void)send, (void)receive, (void)count, (void)type, (void)comm, (void)stream;                                    \
    return look_alike_result;                                                                                        \
  }
WITHOUT_ROOT(ncclAllGather)
WITHOUT_ROOT(ncclAlltoAll)
#define ONE_BUFFER(name)                                                                                    \
  ncclResult_t name(void* buffer, size_t count, int type, int peer, ncclComm_t comm, cudaStream_t stream) { \
    (void)buffer, (void)count, (void)type, (void)peer, (void)comm, (void)stream;                            \
    return look_alike_result;                                                                               \
  }
ONE_BUFFER(ncclBcast)
ONE_BUFFER(ncclSend)
ONE_BUFFER(ncclRecv)

ncclResult_t ncclGroupStart(void) { return look_alike_result; }
ncclResult_t ncclGroupEnd(void) { return look_alike_result; }
