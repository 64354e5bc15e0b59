/* What modc_host.c and modc_threads.c call of Windows. */
#pragma once
#include <stddef.h>
#define WINAPI __stdcall
#define INFINITE 0xffffffff
#define INVALID_HANDLE_VALUE ((HANDLE)(long long)-1)
#define INVALID_FILE_ATTRIBUTES ((DWORD)-1)
#define FILE_ATTRIBUTE_DIRECTORY 0x10
#define FILE_ATTRIBUTE_NORMAL 0x80
#define GENERIC_READ (0x80000000L)
#define GENERIC_WRITE (0x40000000L)
#define FILE_SHARE_READ 1
#define FILE_SHARE_WRITE 2
#define FILE_SHARE_DELETE 4
#define CREATE_NEW 1
#define OPEN_EXISTING 3
#define FILE_TYPE_DISK 1
#define PAGE_READONLY 2
#define FILE_MAP_READ 4
#define MOVEFILE_REPLACE_EXISTING 1
#define MOVEFILE_WRITE_THROUGH 8
#define ERROR_FILE_NOT_FOUND 2L
#define ERROR_PATH_NOT_FOUND 3L
#define ERROR_ACCESS_DENIED 5L
#define ERROR_NOT_ENOUGH_MEMORY 8L
#define ERROR_OUTOFMEMORY 14L
#define ERROR_WRITE_PROTECT 19L
#define ERROR_SHARING_VIOLATION 32L
#define ERROR_HANDLE_DISK_FULL 39L
#define ERROR_FILE_EXISTS 80L
#define ERROR_BUFFER_OVERFLOW 111L
#define ERROR_DISK_FULL 112L
#define ERROR_INVALID_NAME 123L
#define ERROR_ALREADY_EXISTS 183L
#define ERROR_COMMITMENT_LIMIT 1455L
typedef unsigned long DWORD;
typedef int BOOL;
typedef void *HANDLE;
typedef union {
    struct {
        DWORD LowPart;
        long HighPart;
    } u;
    long long QuadPart;
} LARGE_INTEGER;
typedef struct {
    void *Ptr;
} SRWLOCK, CONDITION_VARIABLE;
typedef DWORD(WINAPI *LPTHREAD_START_ROUTINE)(void *argument);
DWORD WINAPI GetLastError(void);
DWORD WINAPI GetFileAttributesA(const char *path);
HANDLE WINAPI CreateFileA(const char *path, DWORD access, DWORD share, void *security, DWORD disposition,
                          DWORD flags, HANDLE like);
DWORD WINAPI GetFileType(HANDLE file);
BOOL WINAPI GetFileSizeEx(HANDLE file, LARGE_INTEGER *size);
HANDLE WINAPI CreateFileMappingA(HANDLE file, void *security, DWORD protect, DWORD high, DWORD low,
                                 const char *name);
void *WINAPI MapViewOfFile(HANDLE map, DWORD access, DWORD high, DWORD low, size_t bytes);
BOOL WINAPI UnmapViewOfFile(const void *view);
BOOL WINAPI WriteFile(HANDLE file, const void *bytes, DWORD count, DWORD *written, void *overlapped);
BOOL WINAPI FlushFileBuffers(HANDLE file);
BOOL WINAPI CloseHandle(HANDLE handle);
BOOL WINAPI DeleteFileA(const char *path);
BOOL WINAPI MoveFileExA(const char *from, const char *to, DWORD flags);
DWORD WINAPI GetFinalPathNameByHandleA(HANDLE file, char *path, DWORD room, DWORD flags);
DWORD WINAPI GetCurrentProcessId(void);
HANDLE WINAPI CreateThread(void *security, size_t stack, LPTHREAD_START_ROUTINE function, void *argument,
                           DWORD flags, DWORD *number);
DWORD WINAPI WaitForSingleObject(HANDLE handle, DWORD milliseconds);
DWORD WINAPI GetCurrentThreadId(void);
void WINAPI InitializeSRWLock(SRWLOCK *lock);
void WINAPI AcquireSRWLockExclusive(SRWLOCK *lock);
void WINAPI ReleaseSRWLockExclusive(SRWLOCK *lock);
void WINAPI InitializeConditionVariable(CONDITION_VARIABLE *condition);
BOOL WINAPI SleepConditionVariableSRW(CONDITION_VARIABLE *condition, SRWLOCK *lock, DWORD milliseconds,
                                      DWORD flags);
void WINAPI WakeConditionVariable(CONDITION_VARIABLE *condition);
void WINAPI WakeAllConditionVariable(CONDITION_VARIABLE *condition);
BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *ticks);
BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *ticks);
void YieldProcessor(void);
