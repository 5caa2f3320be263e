#pragma once
// std::condition_variable, which systems with an older libstdc++ have too.

#include <condition_variable>

// GCC 12 gave wait() a new symbol version when it became noexcept. The first version, which is the
// same code, keeps GLIBCXX_3.4.30 out of the wheels: Amazon Linux 2023 and RHEL 9 do not have it.
#if defined(__GLIBCXX__) && (defined(__x86_64__) || defined(__aarch64__))
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif
