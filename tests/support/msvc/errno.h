#pragma once
int *_errno(void);
#define errno (*_errno())
#define ENOENT 2
#define EIO 5
#define ENOMEM 12
#define EACCES 13
#define EEXIST 17
#define EISDIR 21
#define EINVAL 22
#define ENOSPC 28
#define ENAMETOOLONG 38
