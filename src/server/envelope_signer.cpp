#include "server/envelope_signer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/assert.h"
#include "server/thread_kind.h"
#include "wire/digest/encoding.h"

namespace fanfare::server {
namespace {

constexpr std::size_t kKept = 16'384;
constexpr std::size_t kJobsMax = 1'024;
constexpr long kTenYears = 10L * 365 * 24 * 3600;

template <class T, void (*release)(T*)>
struct Releaser {
  void operator()(T* object) const { release(object); }
};
using PKey = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Releaser<X509, X509_free>>;
struct BioReleaser {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioReleaser>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return text_of(bio.get());
}
std::string pem_of(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio.get());
}

void add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  FANFARE_ASSERT(extension != nullptr, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make_certificate(const char* common_name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  std::array<unsigned char, 16> serial{};
  FANFARE_ASSERT(RAND_bytes(serial.data(), static_cast<int>(serial.size())) == 1);
  serial[0] &= 0x7f;  // positive
  BIGNUM* const number = BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get()));
  BN_free(number);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -24L * 3600);  // clocks of verifiers may be behind
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kTenYears);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
  X509* const signer = issuer == nullptr ? certificate.get() : issuer;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  X509_set_pubkey(certificate.get(), key);
  if (issuer == nullptr) {
    add_extension(certificate.get(), signer, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate.get(), signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    add_extension(certificate.get(), signer, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(certificate.get(), signer, NID_key_usage, "critical,digitalSignature");
    add_extension(certificate.get(), signer, NID_subject_alt_name, "DNS:sns.amazonaws.com");
  }
  add_extension(certificate.get(), signer, NID_subject_key_identifier, "hash");
  FANFARE_ASSERT(X509_sign(certificate.get(), issuer_key, EVP_sha256()) != 0);
  return certificate;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Whole or not at all, and durable.
bool write_file(const std::string& path, std::string_view text, mode_t mode) {
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
  ::close(file);
  if (!written || ::rename(fresh.c_str(), path.c_str()) != 0) return false;
  const int folder = ::open(std::filesystem::path(path).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const bool durable = ::fsync(folder) == 0;
  ::close(folder);
  return durable;
}

std::string identity(const PublicationId& id, std::uint8_t version) {
  std::string key(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  key.push_back(static_cast<char>(version));
  return key;
}

}  // namespace

struct EnvelopeSigner::Key {
  PKey key;
};

EnvelopeSigner::EnvelopeSigner() = default;

Result<std::unique_ptr<EnvelopeSigner>, std::string> EnvelopeSigner::open(const std::string& folder) {
  std::unique_ptr<EnvelopeSigner> signer(new EnvelopeSigner());
  const std::string key_path = folder + "/sns-signing.key";
  const std::string certificate_path = folder + "/sns-signing.pem";
  const std::string authority_path = folder + "/sns-authority.pem";
  PKey key;
  Certificate certificate;
  // The certificate is written last: where it is, all is.
  if (const auto stored = folder.empty() ? std::nullopt : read_file(certificate_path)) {
    const auto key_text = read_file(key_path);
    const auto authority_text = read_file(authority_path);
    const Bio certificate_bio(BIO_new_mem_buf(stored->data(), static_cast<int>(stored->size())));
    certificate.reset(PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
    if (key_text) {
      const Bio key_bio(BIO_new_mem_buf(key_text->data(), static_cast<int>(key_text->size())));
      key.reset(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
    }
    ERR_clear_error();
    if (!certificate || !key || !authority_text || X509_check_private_key(certificate.get(), key.get()) != 1) {
      ERR_clear_error();
      return fmt::format("the signing key and certificates in {} do not belong together or cannot be read; restore {}, {} and "
                         "{}, or remove all three (new ones are made; receivers fetch the new certificate)",
                         folder, key_path, certificate_path, authority_path);
    }
    signer->authority_ = *authority_text;
  } else {
    const PKey authority_key(EVP_RSA_gen(2048));
    key.reset(EVP_RSA_gen(2048));
    if (!authority_key || !key) return std::string{"no RSA key could be made"};
    // Its key signs this one certificate and is forgotten: nobody can issue another in its name.
    const Certificate authority = make_certificate("Fanfare signing authority", authority_key.get(), nullptr, authority_key.get());
    certificate = make_certificate("sns.amazonaws.com", key.get(), authority.get(), authority_key.get());
    signer->authority_ = pem_of(authority.get());
    if (!folder.empty()) {
      std::error_code failed;
      std::filesystem::create_directories(folder, failed);
      if (failed || !write_file(key_path, pem_of(key.get()), 0600) || !write_file(authority_path, signer->authority_, 0644) ||
          !write_file(certificate_path, pem_of(certificate.get()), 0644))
        return fmt::format("{} cannot be written: {}", folder, failed ? failed.message() : std::strerror(errno));
    }
  }
  signer->certificate_ = pem_of(certificate.get());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size);
  signer->path_ = fmt::format("/SimpleNotificationService-{}.pem",
                              wire::digest::hex({reinterpret_cast<const char*>(digest.data()), 16}));
  signer->key_ = std::make_unique<Key>();
  signer->key_->key = std::move(key);
  signer->thread_ = std::thread([raw = signer.get()] { raw->work(); });
  return signer;
}

EnvelopeSigner::~EnvelopeSigner() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string EnvelopeSigner::sign(std::uint8_t version, std::string_view text) const {
  // A context a call: with RSA it costs nothing that could be seen.
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  std::string signature(512, '\0');
  std::size_t size = signature.size();
  const bool signed_ =
      EVP_DigestSignInit(context, nullptr, version == 2 ? EVP_sha256() : EVP_sha1(), nullptr, key_->key.get()) == 1 &&
      EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  EVP_MD_CTX_free(context);
  FANFARE_ASSERT(signed_, "RSA cannot sign");
  signature.resize(size);
  return wire::digest::base64(signature);
}

std::string EnvelopeSigner::sign(const PublicationId& id, std::uint8_t version, std::string_view text) {
  std::string key = identity(id, version);
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = by_id_.find(key); found != by_id_.end()) {
      newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
      return found->second->second;
    }
  }
  std::string signature = sign(version, text);
  const std::lock_guard lock{mutex_};
  keep(std::move(key), signature);
  return signature;
}

void EnvelopeSigner::keep(std::string id, std::string signature) {
  if (by_id_.contains(id)) return;
  newest_first_.emplace_front(id, std::move(signature));
  by_id_.emplace(std::move(id), newest_first_.begin());
  if (newest_first_.size() <= kKept) return;
  by_id_.erase(newest_first_.back().first);
  newest_first_.pop_back();
}

void EnvelopeSigner::prepare(const PublicationId& id, std::uint8_t version, std::string text) {
  {
    const std::lock_guard lock{mutex_};
    if (jobs_.size() >= kJobsMax) return;
    jobs_.push_back({identity(id, version), version, std::move(text)});
  }
  wake_.notify_one();
}

bool EnvelopeSigner::has(const PublicationId& id, std::uint8_t version) {
  const std::string key = identity(id, version);
  const std::lock_guard lock{mutex_};
  return by_id_.contains(key);
}

void EnvelopeSigner::sign_first(std::vector<Wanted> wanted, std::function<void()> done) {
  Urgent urgent;
  urgent.done = std::move(done);
  for (Wanted& one : wanted) urgent.jobs.push_back({identity(one.id, one.version), one.version, std::move(one.text)});
  {
    const std::lock_guard lock{mutex_};
    urgent_.push_back(std::move(urgent));
  }
  wake_.notify_one();
}

void EnvelopeSigner::work() {
  run_as(ThreadKind::Background);
  std::unique_lock lock{mutex_};
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !urgent_.empty() || !jobs_.empty(); });
    if (stopping_) return;
    if (!urgent_.empty()) {
      const Urgent urgent = std::move(urgent_.front());
      urgent_.pop_front();
      for (const Job& job : urgent.jobs) work_off(job, lock);
      if (stopping_) return;
      lock.unlock();
      urgent.done();
      lock.lock();
      continue;
    }
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    work_off(job, lock);
  }
}

/// Without the lock while it signs.
void EnvelopeSigner::work_off(const Job& job, std::unique_lock<std::mutex>& lock) {
  if (stopping_ || by_id_.contains(job.id)) return;
  lock.unlock();
  std::string signature = sign(job.version, job.text);
  lock.lock();
  keep(job.id, std::move(signature));
}

}  // namespace fanfare::server
