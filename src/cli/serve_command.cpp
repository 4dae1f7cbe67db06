#include "cli/serve_command.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <memory>

#include "cli/ranges.h"
#include "server/options.h"
#include "server/server.h"

namespace fanfare::cli {
namespace {

/// What the command line set; applied over the file's settings, so that a flag wins.
struct Flags {
  std::string config;
  server::ServeOptions values;
  std::vector<std::function<void(server::ServeOptions&)>> given;
};

template <class T>
CLI::Option* add_option(CLI::App& command, const std::shared_ptr<Flags>& flags, const std::string& name, T server::ServeOptions::*member,
                const std::string& help, const std::string& type) {
  CLI::Option* option =
      command.add_option(name, flags->values.*member, help)->type_name(type)->default_str("")->each([flags, member](const std::string&) {
        flags->given.push_back([flags, member](server::ServeOptions& options) { options.*member = flags->values.*member; });
      });
  // Where the default is a text, the server itself says what is accepted.
  if constexpr (std::is_same_v<T, std::string>)
    if ((server::ServeOptions{}.*member).empty()) option->check(not_empty());
  return option;
}

void add_switch(CLI::App& command, const std::shared_ptr<Flags>& flags, const std::string& name, bool server::ServeOptions::*member,
                const std::string& help) {
  command.add_flag_callback(name, [flags, member] { flags->given.push_back([member](server::ServeOptions& options) { options.*member = true; }); },
                            help);
}

}  // namespace

void add_serve_command(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();  // shared: CLI11 keeps the callbacks
  CLI::App& command = *app.add_subcommand("serve", "Run the broker, the live gateway and the inbox");
  using server::ServeOptions;
  command.add_option("--config", flags->config, "YAML file with the same names; a flag wins")->type_name("FILE")->check(not_empty());
  add_option(command, flags, "--data", &ServeOptions::data, "journal, inbox and keys (./fanfare-data)", "DIR");
  add_switch(command, flags, "--memory", &ServeOptions::memory, "write nothing to disk");
  add_option(command, flags, "--listen", &ServeOptions::listen, "SNS, SQS, STS (127.0.0.1:4566; port 0 picks a free one)", "HOST:PORT");
  add_option(command, flags, "--edge", &ServeOptions::edge, "inbox and live delivery for browsers (127.0.0.1:4580)", "HOST:PORT");
  add_option(command, flags, "--admin", &ServeOptions::admin, "metrics, health, administration (127.0.0.1:4590)", "HOST:PORT");
  add_option(command, flags, "--tls-certificate", &ServeOptions::tls_certificate,
             "--listen and --edge speak TLS: PEM file of the certificate and its chain; read anew when it changes, and on SIGHUP", "FILE");
  add_option(command, flags, "--tls-key", &ServeOptions::tls_key, "PEM file of the certificate's key, without a passphrase", "FILE");
  add_option(command, flags, "--roles", &ServeOptions::roles, "which parts run (broker,live,inbox,console)", "LIST");
  add_option(command, flags, "--auth", &ServeOptions::auth, "development: any access key is accepted; enforced: only those of --identities", "MODE");
  add_option(command, flags, "--identities", &ServeOptions::identities, "YAML file of users, roles, accounts and their keys; read anew when it changes", "FILE");
  add_option(command, flags, "--policies", &ServeOptions::policies, "full, or off: stored but not enforced", "MODE");
  add_option(command, flags, "--region", &ServeOptions::region, "where a request names none (us-east-1)", "NAME");
  add_option(command, flags, "--account", &ServeOptions::account, "where a request names none (000000000000)", "12 DIGITS");
  add_option(command, flags, "--durability", &ServeOptions::durability, "sync, or relaxed: answer before the disk has it", "MODE");
  add_option(command, flags, "--inbox-store", &ServeOptions::inbox_store, "sqlite", "STORE");
  add_option(command, flags, "--clock", &ServeOptions::clock, "real, or manual: it runs on, and POST /_fanfare/clock moves it forward", "MODE");
  add_option(command, flags, "--threads", &ServeOptions::threads, "loops that serve requests (one a core)", "N")->check(whole_number(1, 256));
  add_option(command, flags, "--loop", &ServeOptions::loop, "auto, io_uring or epoll", "KIND");
  add_option(command, flags, "--chaos", &ServeOptions::chaos,
             "faults on purpose: duplicate=5%,reorder,delay=0..2s,throttle=1%,lose-response=1%,receive-empty=3%, or none", "FAULTS");
  add_option(command, flags, "--chaos-seed", &ServeOptions::chaos_seed, "the same seed, the same faults (1)", "N")->check(whole_number(0, 999'999'999));
  add_option(command, flags, "--edge-files", &ServeOptions::edge_files, "serve this folder's files at the edge's /", "DIR");
  add_option(command, flags, "--smtp", &ServeOptions::smtp, "mail server for e-mail subscriptions: smtp://HOST:PORT or smtps://; without one mails are captured", "URL");
  add_option(command, flags, "--smtp-from", &ServeOptions::smtp_from, "the address that mails come from", "ADDRESS");
  add_option(command, flags, "--smtp-login-file", &ServeOptions::smtp_login_file,
             "user and password, a line each (else FANFARE_SMTP_USER and FANFARE_SMTP_PASSWORD of the environment)", "FILE");
  add_option(command, flags, "--smtp-ca-file", &ServeOptions::smtp_ca_file, "verify the mail server with these certificates instead of the system's", "FILE");
  add_switch(command, flags, "--smtp-plain", &ServeOptions::smtp_plain, "send mails and login without TLS");
  add_switch(command, flags, "--allow-public-development", &ServeOptions::allow_public_development,
             "development mode on an address that other machines reach");
  command.callback([flags, &exit_code] {
    ServeOptions options;
    if (!flags->config.empty())
      if (const auto read = server::read_config_file(flags->config, options); !read) {
        std::fprintf(stderr, "fanfare: %s\n", read.error().c_str());
        exit_code = 2;
        return;
      }
    for (const auto& apply : flags->given) apply(options);
    exit_code = server::serve(options);
  });
}

}  // namespace fanfare::cli
