// For tests of TLS: a certificate authority and certificates that it issues.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.hpp"
#include "tests/support/http/temp_folder.hpp"

namespace tangram::http::testing {

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority")
      : key_(::EVP_EC_gen("P-256"), ::EVP_PKEY_free) {
    certificate_ = make(name, key_.get(), "critical,CA:TRUE", "");
  }

  void write_own(const std::filesystem::path& file) const { write(file, *certificate_, nullptr); }
  // A certificate for "DNS:localhost,IP:127.0.0.1" and its key.
  void issue(const std::filesystem::path& certificate, const std::filesystem::path& key,
             const std::string& names) const {
    const Key made(::EVP_EC_gen("P-256"), ::EVP_PKEY_free);
    const Certificate issued = make("tangramd", made.get(), "critical,CA:FALSE", names);
    write(certificate, *issued, nullptr);
    write(key, *issued, made.get());
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;

  static void extend(X509* certificate, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* made = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    CHECK(made != nullptr);
    ::X509_add_ext(certificate, made, -1);
    ::X509_EXTENSION_free(made);
  }

  [[nodiscard]] Certificate make(const std::string& name, EVP_PKEY* key, const std::string& basic,
                                 const std::string& names) const {
    Certificate made(::X509_new(), ::X509_free);
    ::X509_set_version(made.get(), 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), ++serial_);
    ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), 3600);
    ::X509_set_pubkey(made.get(), key);
    X509_NAME* const subject = ::X509_get_subject_name(made.get());
    ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    ::X509_set_issuer_name(made.get(),
                           certificate_ ? ::X509_get_subject_name(certificate_.get()) : subject);
    extend(made.get(), NID_basic_constraints, basic);
    if (!names.empty()) extend(made.get(), NID_subject_alt_name, names);
    CHECK(::X509_sign(made.get(), key_.get(), ::EVP_sha256()) > 0);
    return made;
  }

  // Writes the key, or the certificate if `key` is null.
  static void write(const std::filesystem::path& file, X509& certificate, EVP_PKEY* key) {
    std::FILE* const out = std::fopen(file.c_str(), "w");
    CHECK(out != nullptr);
    if (key != nullptr) {
      CHECK(::PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    } else {
      CHECK(::PEM_write_X509(out, &certificate) == 1);
    }
    std::fclose(out);
  }

  Key key_;
  Certificate certificate_{nullptr, ::X509_free};
  mutable long serial_ = 0;
};

inline constexpr const char* kNames = "DNS:localhost,IP:127.0.0.1";

// A folder with a CA, and a certificate issued by it for localhost.
class TestKeys {
 public:
  TestKeys() {
    authority_.write_own(ca());
    authority_.issue(certificate(), key(), kNames);
  }

  [[nodiscard]] std::filesystem::path ca() const { return folder_.path() / "ca.pem"; }
  [[nodiscard]] std::filesystem::path certificate() const { return folder_.path() / "cert.pem"; }
  [[nodiscard]] std::filesystem::path key() const { return folder_.path() / "key.pem"; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }
  [[nodiscard]] const TestAuthority& authority() const { return authority_; }

 private:
  TempFolder folder_;
  TestAuthority authority_;
};

}  // namespace tangram::http::testing
