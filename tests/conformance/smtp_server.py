"""A small mail server for tests: keeps what it takes, answers commands as it is told, speaks STARTTLS. For mail_cases.py."""
import email
import email.policy
import socket
import ssl
import threading


class SmtpServer:
    def __init__(self, certificate=None, login=None, port=0):
        """`certificate`: (PEM file of the chain, PEM file of the key) for STARTTLS; `login`: base64 of AUTH PLAIN that is demanded."""
        self.mails, self.commands, self.lock = [], [], threading.Lock()
        self.answers = {}  # beginning of a command -> answers to give first, one a time; "hang" gives none
        self.login = login
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.listener = socket.create_server(("127.0.0.1", port), backlog=32)
        self.port = self.listener.getsockname()[1]
        self.url = f"smtp://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # a thread waits in accept
        self.listener.close()

    def to(self, recipient):
        """The mails to one address, parsed."""
        with self.lock:
            return [email.message_from_bytes(content, policy=email.policy.default) for _, to, content in self.mails if to == recipient]

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def planned(self, command, usual):
        with self.lock:
            for beginning, answers in self.answers.items():
                if answers and command.startswith(beginning):
                    return answers.pop(0)
        return usual

    def serve(self, peer):
        try:
            self.talk(peer)
        except (OSError, ssl.SSLError):
            pass
        finally:
            peer.close()

    def talk(self, peer):
        secure, logged_in, sender, recipient = False, not self.login, b"", b""
        file = peer.makefile("rwb")

        def say(text):
            file.write(text.encode() + b"\r\n")
            file.flush()

        say("220 test")
        while line := file.readline():
            command = line.rstrip(b"\r\n").decode("latin-1")
            verb = command.upper()
            with self.lock:
                self.commands.append(command)
            usual = "250 fine"
            if verb.startswith("EHLO"):
                offers = ["test"] + (["STARTTLS"] if self.context and not secure else []) + (["AUTH PLAIN"] if self.login else [])
                usual = "\r\n".join(f"250{'-' if i + 1 < len(offers) else ' '}{offer}" for i, offer in enumerate(offers))
            elif verb == "DATA":
                usual = "354 go on"
            elif verb == "QUIT":
                usual = "221 bye"
            elif verb.startswith("AUTH PLAIN"):
                given = command[11:]
                if not given:
                    say("334 ")
                    given = file.readline().strip().decode()
                logged_in = given == self.login
                usual = "235 welcome" if logged_in else "535 who are you"
            elif verb.startswith("MAIL") and not logged_in:
                usual = "530 log in first"
            elif verb == "STARTTLS":
                say("220 go on")
                peer = self.context.wrap_socket(peer, server_side=True)
                file, secure = peer.makefile("rwb"), True
                continue
            answer = self.planned(command, usual)
            if answer == "hang":
                peer.recv(1)
                return
            if verb.startswith("MAIL FROM:"):
                sender = line[line.index(b"<") + 1:line.index(b">")]
            if verb.startswith("RCPT TO:"):
                recipient = line[line.index(b"<") + 1:line.index(b">")]
            say(answer)
            if verb == "QUIT":
                return
            if answer.startswith("354"):
                content = b""
                while (line := file.readline()) not in (b".\r\n", b""):
                    content += line[1:] if line.startswith(b".") else line
                answer = self.planned(".", "250 taken")
                if answer == "hang":
                    peer.recv(1)
                    return
                if answer.startswith("2"):
                    with self.lock:
                        self.mails.append((sender.decode(), recipient.decode(), content))
                say(answer)
