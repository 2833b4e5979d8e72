#!/usr/bin/env bash
# Packages: rulesync 17.0.0 and @intellectronica/ruler 0.3.44, which write the config files of many agents from one, and Codex 0.171.0
#   (@openai/codex), which reads what they wrote. Source: npm; https://github.com/dyoshikawa/rulesync,
#   https://github.com/intellectronica/ruler, https://github.com/openai/codex
# Behaviour: of a server with the header `Authorization: Bearer ${TOKEN}` rulesync writes `${env:TOKEN}` for Cursor and `{env:TOKEN}` for
#   opencode, but the text as it was for Codex, which sends "Bearer ${TOKEN}" to the server, though TOKEN is set. ruler writes the header
#   for Codex under a key that Codex does not know: it sends no header. Neither says a word.
# Why a good guess is wrong: to know each agent's dialect is what these tools are for; rulesync translates even the time limit for Codex
#   (milliseconds to seconds), and Codex has keys for a token from a variable. One expects a translation or a warning. A server that
#   answers 401 to one agent of three seems to have a fault of its own.
# Versions: Holds in rulesync 17.0.0; of a file of 8.30.1 Codex reads no header at all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit "rulesync@${RULESYNC_VERSION:-17.0.0}" "@intellectronica/ruler@${RULER_VERSION:-0.3.44}" \
    "@openai/codex@${CODEX_VERSION:-0.171.0}"
cat >run.py <<'RUN'
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

here, sent = os.getcwd(), []


class Server(BaseHTTPRequestHandler):
    """The MCP server, and the model's API: notes the header of the first, and knows nothing."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/mcp":
            sent.append(self.headers.get("Authorization"))
        self.send_error(404)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
for path in ("rulesync", "ruler/.ruler", "home"):
    os.makedirs(path)
header = "Bearer ${TOKEN}"
with open("rulesync/.mcp.json", "w") as config:
    far = {"type": "http", "url": f"{url}/mcp", "headers": {"Authorization": header}, "timeout": 120000}
    json.dump({"mcpServers": {"far": far}}, config)
with open("ruler/.ruler/ruler.toml", "w") as config:
    config.write(f'default_agents = ["codex"]\n[mcp_servers.far]\nurl = "{url}/mcp"\n')
    config.write(f'[mcp_servers.far.headers]\nAuthorization = "{header}"\n')
nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
environment = {**os.environ, **nowhere, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "HOME": f"{here}/home", "TOKEN": "secret"}


def run(program, *arguments, cwd=here, **more):
    command = [f"{here}/node_modules/.bin/{program}", *arguments]
    settings = {"cwd": cwd, "env": {**environment, **more}, "timeout": 100, "text": True}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **settings)
    return done.stdout


def codex(folder):
    """What Codex sends with the config that was written in `folder`."""
    with open(f"{folder}/.codex/config.toml") as written:
        config = written.read()
    os.makedirs(f"home/{folder}")
    with open(f"home/{folder}/config.toml", "w") as home:
        home.write('model = "stand-in"\nmodel_provider = "loopback"\n[model_providers.loopback]\nname = "loopback"\n')
        home.write(f'base_url = "{url}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n{config}')
    sent.clear()
    run("codex", "exec", "--skip-git-repo-check", "Go.", CODEX_HOME=f"{here}/home/{folder}")
    return sent[0]


to = "cursor,opencode,codexcli"
said = run("rulesync", "convert", "--from", "claudecode", "--to", to, "--features", "mcp", cwd="rulesync")
with open("rulesync/.cursor/mcp.json") as cursor:
    cursor = json.load(cursor)["mcpServers"]["far"]["headers"]["Authorization"]
with open("rulesync/opencode.jsonc") as opencode:
    opencode = json.load(opencode)["mcp"]["far"]["headers"]["Authorization"]
said += run("ruler", "apply", cwd="ruler")
for name in ("rulesync", "@intellectronica/ruler", "@openai/codex"):
    with open(f"node_modules/{name}/package.json") as package:
        print(name, json.load(package)["version"])
first, second = codex("rulesync"), codex("ruler")
print("rulesync writes", cursor, "for Cursor,", opencode, "for opencode; with its file Codex sends", first)
print("with ruler's file Codex sends", second)
translated = (cursor, opencode) == ("Bearer ${env:TOKEN}", "Bearer {env:TOKEN}")
sys.exit(not (translated and first == header and second is None and "uthorization" not in said and "TOKEN" not in said))
RUN
python3 run.py
