// See job_options.hpp: the options.
#include "cli/jobs/job_options.hpp"

namespace tangram::cli {
namespace {

void add_text(Verb& verb, const char* names, std::string& value, const char* help,
              const char* placeholder) {
  verb.add_option(names, value, help)->option_text(placeholder);
}

void add_repeated(Verb& verb, const char* names, std::vector<std::string>& values, const char* help,
                  const char* placeholder) {
  verb.add_option(names, values, help)->option_text(placeholder)->allow_extra_args(false);
}

void add_size_options(Verb& verb, JobOptions& o) {
  add_text(verb, "-p,--profile", o.profile, "MIG profile, e.g. 2g.10gb; or", "PROFILE");
  add_text(verb, "--gpu-memory", o.gpu_memory,
           "Use the smallest profile with at least this much memory, e.g. 8GiB", "SIZE");
  add_text(verb, "--gpu-model", o.gpu_model, "Only run on GPUs of this model, e.g. A100-40GB",
           "MODEL");
  add_text(verb, "--name", o.name, "Name of the job (default: that of the command)", "NAME");
  add_repeated(verb, "--label", o.labels, "Label NAME=VALUE; may be repeated", "NAME=VALUE");
  verb.add_option("--kind", o.kind, "batch (runs to its end, the default) or service")
      ->one_of({"batch", "service"})
      ->option_text("KIND");
  verb.add_flag("--service", o.service, "Same as --kind service")->excludes("--kind");
}

void add_service_options(Verb& verb, JobOptions& o) {
  verb.add_option("--port", o.port, "Port of the service's endpoint (default: a free port)")
      ->option_text("PORT");
  verb.add_option("--endpoint", o.endpoint,
                  "Endpoint mode: http, tcp or none (default: as the probe)")
      ->one_of({"http", "tcp", "none"})
      ->option_text("MODE");
  add_text(verb, "--host", o.host, "Address the endpoint listens on, e.g. 0.0.0.0", "ADDRESS");
  verb.add_flag("--forwarded", o.forwarded,
                "Let the endpoint add X-Forwarded-For, -Host and -Proto");
  add_text(verb, "--drain", o.drain,
           "How long in-flight requests may take to finish during a move (e.g. 30s)", "TIME");
  add_repeated(verb, "--endpoint-option", o.endpoint_options,
               "Limit of the endpoint: wait, connect, keep_alive, idle=TIME (or idle=none), "
               "most_connections=N; may be repeated",
               "NAME=VALUE");
}

void add_probe_options(Verb& verb, JobOptions& o) {
  add_text(verb, "--probe", o.probe,
           "Readiness probe of a service: tcp, http:/PATH or command:'COMMAND'", "PROBE");
  add_text(verb, "--probe-interval", o.probe_interval, "Time between probes, e.g. 500ms", "TIME");
  add_text(verb, "--probe-timeout", o.probe_timeout, "Timeout of one probe, e.g. 2s", "TIME");
  add_text(verb, "--probe-deadline", o.probe_deadline,
           "Time to become ready before the service has failed, e.g. 10m", "TIME");
}

void add_move_options(Verb& verb, JobOptions& o) {
  verb.add_option("--move", o.move,
                  "Allow to move the job while it runs: by replica (services: a second run takes "
                  "over, memory is lost) or checkpoint (batch); never: forbid it")
      ->one_of({"replica", "checkpoint", "never"})
      ->option_text("WAY");
  verb.add_flag("--stateless", o.stateless,
                "Same as --move replica: the service keeps nothing that a second run lacks")
      ->excludes("--move");
  verb.add_flag("--pin", o.pin, "Same as --move never")
      ->excludes("--move")
      ->excludes("--stateless");
  add_text(verb, "--move-signal", o.move_signal,
           "Signal that requests a checkpoint (default: USR1)", "SIGNAL");
  add_text(verb, "--move-deadline", o.move_deadline,
           "Time to save a checkpoint, and again to resume from it, e.g. 60s", "TIME");
}

void add_limit_options(Verb& verb, JobOptions& o) {
  add_text(verb, "--grace", o.grace, "Time between SIGTERM and SIGKILL on stop, e.g. 30s", "TIME");
  verb.add_option("--restart", o.restart,
                  "When to run the job again: never (the default), on-failure, always or "
                  "on-node-fault (its GPU, instance or shim was lost, or the node rebooted)")
      ->one_of({"never", "on-failure", "always", "on-node-fault"})
      ->option_text("WHEN");
  verb.add_flag("--requeue", o.requeue, "Same as --restart on-node-fault")->excludes("--restart");
  verb.add_option("--max-restarts", o.max_restarts, "Maximum number of restarts (default: 3)")
      ->option_text("N");
  verb.add_option("--priority", o.priority,
                  "Higher starts sooner (default: 0); the operator limits how high")
      ->option_text("N");
  add_text(verb, "--time-limit", o.time_limit, "Stop the job after this time, e.g. 1h30m", "TIME");
  verb.add_option("--cpus", o.cpus, "CPU limit in cores, e.g. 1.5 (needs cgroup v2)")
      ->option_text("N");
  add_text(verb, "--memory", o.memory, "Host memory limit, e.g. 4GiB (needs cgroup v2)", "SIZE");
  add_repeated(verb, "--rlimit", o.rlimits, "Resource limit, e.g. nofile=1024; may be repeated",
               "NAME=N");
}

void add_environment_options(Verb& verb, JobOptions& o) {
  add_repeated(verb, "--env", o.env,
               "Variable NAME=VALUE, or NAME to pass the current value; may be repeated",
               "NAME[=VALUE]");
  add_text(verb, "--env-file", o.env_file, "File of variables, NAME=VALUE lines", "FILE");
  verb.add_flag("--clean-env", o.clean_env, "Do not pass the current environment");
  add_text(verb, "--directory", o.directory, "Working directory (default: the current one)", "DIR");
  add_text(verb, "--output", o.output,
           "File that gets the output too, relative to the working directory; %j is the job's ID, "
           "%A and %a array and index",
           "FILE");
  add_text(verb, "--error", o.error, "File for standard error (default: that of --output)", "FILE");
  add_text(verb, "--umask", o.umask, "File mode mask, octal (default: the current one)", "MASK");
}

}  // namespace

void add_job_options(Verb& verb, JobOptions& o) {
  add_size_options(verb, o);
  add_service_options(verb, o);
  add_probe_options(verb, o);
  add_move_options(verb, o);
  add_limit_options(verb, o);
  add_environment_options(verb, o);
  add_repeated(verb, "--after", o.after,
               "Start only after these jobs have completed, e.g. 12,13; JOB:any: have ended in any "
               "way; may be repeated",
               "JOB[:any]");
  verb.add_flag("--hold", o.hold, "Hold the job until it is released");
  verb.add_option("COMMAND", o.command, "Command to run; all words behind its first are its own");
}

}  // namespace tangram::cli
