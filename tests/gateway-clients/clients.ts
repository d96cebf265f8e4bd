/** A program as people have it, and what it is asked to do. It must say `kindled`. */
export interface Client {
  readonly name: string
  readonly program: string
  /** The hosts that it reaches. */
  readonly names: readonly string[]
  /** A command that fails where the program is there and a part of it is not. */
  readonly needs?: string
  readonly command: string
}

const JAVA = `
import java.net.URI;
import java.net.http.*;
class Client {
  public static void main(String[] args) throws Exception {
    var client = HttpClient.newHttpClient();
    for (var address : args) {
      var request = HttpRequest.newBuilder(URI.create(address)).build();
      System.out.println(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
  }
}
`

/** Without any setting that has to do with a proxy or with certificates. */
export const CLIENTS: readonly Client[] = [
  {
    name: 'curl',
    program: 'curl',
    names: ['web.example'],
    command: 'curl -sS "$WEB/hello"; curl -sS --http1.1 "$WEB/hello"',
  },
  {
    name: 'git: clone, push and fetch with a token that it does not have',
    program: 'git',
    names: ['git.example'],
    command: `
      export GIT_TERMINAL_PROMPT=0 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
      address="https://x-access-token:$TOKEN@$GIT"
      git clone -q "$address" /tmp/one && cd /tmp/one && echo kindled >file && git add file && git commit -qm one && git push -q origin HEAD:main
      git clone -q "$address" /tmp/two && cat /tmp/two/file
      git commit -q --allow-empty -m two && git push -q origin HEAD:main
      git -C /tmp/two fetch -q && git -C /tmp/two log --format=%s origin/main | grep -x two`,
  },
  {
    name: 'pip',
    program: 'pip3',
    names: ['web.example'],
    command: `pip3 install -q --disable-pip-version-check --no-cache-dir --index-url "$WEB/simple/" --target /tmp/python hearthling
      PYTHONPATH=/tmp/python python3 -c 'import hearthling; print(hearthling.said)'`,
  },
  {
    name: 'npm',
    program: 'npm',
    names: ['web.example'],
    command: `mkdir -p /tmp/node && cd /tmp/node && npm install --silent --no-audit --no-fund --no-update-notifier --registry "$WEB/npm/" hearthling
      node -p 'require("hearthling")'`,
  },
  {
    name: 'fetch of Node',
    program: 'node',
    names: ['web.example'],
    command: `node -e 'fetch(process.env.WEB + "/hello").then((answer) => answer.text()).then(console.log)'`,
  },
  {
    name: 'requests of Python',
    program: 'python3',
    names: ['web.example'],
    needs: `python3 -c 'import requests'`,
    command: `python3 -c 'import os, requests; print(requests.get(os.environ["WEB"] + "/hello").text)'`,
  },
  {
    name: 'urllib of Python',
    program: 'python3',
    names: ['web.example'],
    command: `python3 -c 'import os, urllib.request as u; print(u.urlopen(os.environ["WEB"] + "/hello").read().decode())'`,
  },
  {
    name: 'HttpClient of Java',
    program: 'java',
    names: ['plain.example', 'web.example'],
    command: `cat >/tmp/Client.java <<'END'\n${JAVA}\nEND\njava -Xshare:auto -XX:TieredStopAtLevel=1 /tmp/Client.java "$PLAIN/hello" "$WEB/hello"`,
  },
  {
    name: 'the store of Java: whole, with all that the template trusts',
    program: 'keytool',
    names: [],
    command: `trusted=$(grep -c 'BEGIN CERTIFICATE' /.hearth/certificates.crt)
      keytool -list -keystore /.hearth/cacerts -storepass changeit 2>/dev/null | grep -c trustedCertEntry | grep -qx "$trusted" && echo kindled`,
  },
  {
    name: 'ssh',
    program: 'ssh',
    names: ['ssh.example'],
    command: `head -c 3000000 /dev/zero | ssh -o UserKnownHostsFile=/tmp/known_hosts -o BatchMode=yes -i /tmp/key -p "$SSH_PORT" root@ssh.example look | tee /tmp/said
      grep -qx 3000000 /tmp/said`,
  },
  {
    name: 'psql',
    program: 'psql',
    names: ['database.example'],
    command: `psql -h database.example -p "$DATABASE_PORT" -U hearth -d postgres -Atc "select 'kindled', sum(n) from generate_series(1, 100000) n"`,
  },
]
