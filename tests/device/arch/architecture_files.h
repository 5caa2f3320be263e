#pragma once
// Architecture files for tests: built-in texts, doctored ones, and files on disk.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "device/arch/embedded.h"
#include "device/arch/reader.h"
#include "device/base/errors.h"

namespace neuron_sim::test {

inline std::string builtin_text(std::string_view name) {
  for (int i = 0; i < kEmbeddedArchitectureCount; ++i) {
    if (name == kEmbeddedArchitectures[i].name) return kEmbeddedArchitectures[i].text;
  }
  throw std::logic_error("no such built-in file");
}

/// `content` with the only occurrence of `from` replaced.
inline std::string replaced(std::string content, const std::string& from, const std::string& to) {
  const size_t at = content.find(from);
  if (at == std::string::npos || content.find(from, at + 1) != std::string::npos) {
    throw std::logic_error("'" + from + "' does not occur exactly once");
  }
  return content.replace(at, from.size(), to);
}

inline std::string fact(const std::string& key, const std::string& value, const std::string& unit,
                        const std::string& certainty = "assumed") {
  return "[" + key + "]\nvalue = " + value + "\nunit = \"" + unit +
         "\"\nsource = \"a test\"\ncertainty = \"" + certainty + "\"\n";
}

/// What the KernelError thrown by `action` says; empty when nothing is thrown.
template <typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const KernelError& error) {
    return error.what();
  }
  return "";
}

struct NamedText {
  std::string name;
  std::string content;
};

inline Architecture read(const std::vector<NamedText>& files, const std::string& name) {
  std::vector<EmbeddedFile> embedded;
  for (const NamedText& file : files) {
    embedded.push_back({file.name.c_str(), file.content.c_str()});
  }
  return ArchitectureReader(embedded).read(name);
}

inline Architecture read_trn2_with(const std::string& content) {
  return read({{"trn2", builtin_text("trn2")}, {"mine", "base = \"trn2\"\n" + content}}, "mine");
}

inline void expect_parts(const std::string& message, const std::vector<std::string>& parts) {
  EXPECT_FALSE(message.empty()) << "nothing was refused";
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
  }
}

inline void expect_refused(const std::string& content, const std::vector<std::string>& parts) {
  expect_parts(message_of([&] { read_trn2_with(content); }), parts);
}

/// A directory that disappears with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "archXXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name) << content;
    return (path_ / name).string();
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Sets an environment variable (or removes it) until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~ScopedVariable() {
    if (had_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

}  // namespace neuron_sim::test
