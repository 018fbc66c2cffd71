"""The webcam listener: the part of FTP that webcam programs need.

A player signs in and stores PLAYER.jpg; the page shows it as the avatar whose media file is
`video/PLAYER.jpg` (see `pictures`, `web.webcam`). Nothing can be read, listed, renamed or deleted over FTP.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from inspect import signature
from typing import Any

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols import ftp
from twisted.python.failure import Failure

from upstage.net.pictures import MAX_SIZE, Pictures, Rejected, starts_as_jpeg
from upstage.stage.limits import client_of
from upstage.stage.players import Player

PICTURE_TIME = 20.0  # seconds for one picture
IDLE_TIME = 120  # seconds without a command; slow cameras send one picture a minute
MAX_FAILURES = 3  # wrong passwords before the connection is closed
SIGN_IN_TIME = 20.0  # seconds
MAX_ANONYMOUS = 100  # sessions before sign-in
MAX_OF_PLAYER = 3  # sessions after sign-in: a camera that has lost its connection signs in again

# (name, password, client address) -> the player, None if name or password is wrong. May raise Rejected.
Check = Callable[[str, str, str], Awaitable[Player | None]]


class PictureUpload(Protocol):
    """FTP's data connection, which receives one picture and reads nothing before STOR."""

    transport: Any

    def __init__(self) -> None:
        self._data = bytearray()
        self._wanted = False
        self._done: Deferred[bytes] = Deferred(lambda _: self.close())

    def receive(self) -> Deferred[bytes]:
        """Fire with the picture when the connection closes; fail with Rejected as soon as it is invalid."""
        self._wanted = True
        if self.connected:
            self.transport.resumeProducing()
        return self._done

    def close(self) -> None:
        if self.connected:
            self.transport.abortConnection()

    def connectionMade(self) -> None:
        if not self._wanted:
            self.transport.pauseProducing()

    def dataReceived(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > MAX_SIZE:
            self._fail(f"a picture has at most {MAX_SIZE} bytes")
        elif not starts_as_jpeg(self._data):
            self._fail("this is not a JPEG")

    def _fail(self, reason: str) -> None:
        self.close()
        if not self._done.called:
            self._done.errback(Rejected(reason))

    def connectionLost(self, reason: Failure | None = None) -> None:
        if not self._done.called and self._wanted:
            self._done.callback(bytes(self._data))


class UploadListener(Factory):
    """A passive port: accepts one connection, and only from the address of the command connection."""

    noisy = False

    def __init__(self, reactor: Any, ports: Iterable[int], interface: str, peer: str) -> None:
        """Listen on the first of `ports` that is free; raise Rejected if none is."""
        self.upload = PictureUpload()
        self._peer = peer
        self._taken = self._is_shut = False
        for port in ports:
            try:
                self._listening = reactor.listenTCP(port, self, backlog=1, interface=interface)
                return
            except CannotListenError:
                continue
        raise Rejected("all ports for pictures are in use")

    @property
    def port(self) -> int:
        number: int = self._listening.getHost().port
        return number

    def buildProtocol(self, addr: IAddress | None) -> PictureUpload | None:
        """Accept the first connection from the session's client, and listen no longer."""
        if self._taken or getattr(addr, "host", None) != self._peer:
            return None
        self._taken = True
        self._shut()
        return self.upload

    def close(self) -> None:
        self._shut()
        self.upload.close()

    def _shut(self) -> None:
        if not self._is_shut:  # Twisted raises if this is called twice within the same tick
            self._is_shut = True
            self._listening.stopListening()


class Session(ftp.FTP):
    """One webcam program's command connection."""

    factory: "WebcamFactory"
    transport: Any
    COMMANDS = frozenset(
        ["USER", "PASS", "QUIT", "NOOP", "SYST", "FEAT", "TYPE", "MODE", "STRU",
         "PWD", "CWD", "PASV", "EPSV", "STOR"]
    )  # fmt: skip
    FEATURES = ["EPSV", "PASV"]  # noqa: RUF012  # Twisted's is a list, too
    player: Player
    place: str | None = None  # its place: see Sessions
    _listener: UploadListener | None = None
    _failures = 0

    def connectionMade(self) -> None:
        """Greet, and remember both addresses of this connection: data connections must use the same.

        Behind a `haproxy:` endpoint both are the proxy's: its header has not been read yet.
        """
        self._here: str = self.transport.getHost().host
        self._there: str = self.transport.getPeer().host
        super().connectionMade()
        self._impatience = self.factory.reactor.callLater(SIGN_IN_TIME, self.give_up)
        self.factory.sessions.enter(self, ANONYMOUS)

    def connectionLost(self, reason: Failure | None = None) -> None:
        self._stop()
        super().connectionLost(reason)

    @property
    def client(self) -> str:
        """The client's address; behind a `haproxy:` endpoint the proxy's until its header has been read."""
        return client_of(self.transport.getPeer().host)

    def give_up(self) -> None:
        """End the session, and free its place immediately."""
        self._stop()
        self.reply(ftp.TOO_MANY_CONNECTIONS)
        self.transport.loseConnection()

    def _stop(self) -> None:
        self._close_listener()
        self.factory.sessions.leave(self)
        if self._impatience.active():
            self._impatience.cancel()

    def sendLine(self, line: str | bytes) -> None:
        """Reply, if the connection is still open."""
        if self.transport:
            super().sendLine(line)

    def processCommand(self, cmd: str, *params: str) -> Any:
        """Run one of COMMANDS, with an argument if it takes one; raise FTPCmdError."""
        if cmd.upper() not in self.COMMANDS:
            raise ftp.CmdNotImplementedError(cmd)
        try:
            signature(getattr(self, f"ftp_{cmd.upper()}")).bind(*params)
        except TypeError:  # otherwise the log would report it as an error of this program
            raise ftp.CmdArgSyntaxError(cmd) from None
        return super().processCommand(cmd, *params)

    def ftp_PASS(self, password: str) -> Deferred[tuple[str, ...] | str]:
        return Deferred.fromCoroutine(self._sign_in(self._user, password))

    async def _sign_in(self, name: str, password: str) -> str:
        player: Player | None = None
        refusal: ftp.FTPCmdError = ftp.AuthorizationError()
        try:
            player = await self.factory.check(name, password, self.client)
        except Rejected as error:
            refusal = error
        if player is None or not player.can_act:
            self.state = self.UNAUTH
            self._failures += 1
            if self._failures >= MAX_FAILURES and self.transport:
                self.transport.loseConnection()
            raise refusal
        if self.place is None:  # the session has ended meanwhile
            raise ftp.AuthorizationError()
        if self._impatience.active():
            self._impatience.cancel()
        self.factory.sessions.enter(self, player.name)
        self.player = player
        self.state = self.AUTHED
        self.workingDirectory: list[str] = []
        return str(ftp.USR_LOGGED_IN_PROCEED)

    def ftp_CWD(self, path: str) -> tuple[str]:
        """Accept a change to the only folder: some programs send this command."""
        if path.strip("/.") != "":
            raise ftp.PermissionDeniedError(path)
        return (ftp.REQ_FILE_ACTN_COMPLETED_OK,)

    def ftp_PASV(self) -> tuple[str, str]:
        """Open a port; announce it with the address that clients use for this machine."""
        port = self._open_listener().port
        return ftp.ENTERING_PASV_MODE, ftp.encodeHostPort(self.factory.address or self._here, port)

    def ftp_EPSV(self, protocol: str = "") -> tuple[str, int]:
        """Open a port; the client connects to the address that it already uses."""
        return ftp.ENTERING_EPSV_MODE, self._open_listener().port

    def _open_listener(self) -> UploadListener:
        self._close_listener()
        self._listener = UploadListener(self.factory.reactor, self.factory.ports, self._here, self._there)
        return self._listener

    def _close_listener(self) -> None:
        if self._listener:
            self._listener.close()
            self._listener = None

    def ftp_STOR(self, path: str) -> Deferred[tuple[str]]:
        return Deferred.fromCoroutine(self._store(path.removeprefix("/")))

    async def _store(self, name: str) -> tuple[str]:
        if self._listener is None:
            raise ftp.BadCmdSequenceError("send PASV or EPSV first")
        pictures = self.factory.pictures
        outcome = "rejected"
        try:
            pictures.allow(self.player, name)
            self.reply(ftp.FILE_STATUS_OK_OPEN_DATA_CNX)
            data = await self._listener.upload.receive().addTimeout(PICTURE_TIME, self.factory.reactor)
            pictures.take(self.player, name, data)
            outcome = "stored"
        except TimeoutError as error:
            raise Rejected(f"the picture did not arrive within {PICTURE_TIME:.0f} s") from error
        finally:
            pictures.outcomes[outcome] += 1
            self._close_listener()
        return (ftp.TXFR_COMPLETE_OK,)


ANONYMOUS = ""  # the place of sessions before sign-in; no player has this name


class Sessions:
    """The sessions' places: a few for each player, and MAX_ANONYMOUS for sessions before sign-in.

    When a player has too many sessions, the oldest ends. When too many have not signed in, the newest session
    of the address with the most of them ends, so that a single client cannot shut out a camera.
    """

    def __init__(self) -> None:
        self._of: dict[str, dict[Session, None]] = {}  # sessions by player, or ANONYMOUS; the oldest first

    def enter(self, session: Session, place: str) -> None:
        """Give a session a place instead of its present one; another session may have to end."""
        self.leave(session)
        held = self._of.get(place, {})
        if place != ANONYMOUS and len(held) >= MAX_OF_PLAYER:
            next(iter(held)).give_up()
        elif place == ANONYMOUS and len(held) >= MAX_ANONYMOUS:
            clients = {session: session.client for session in held}
            [(client, _)] = Counter(clients.values()).most_common(1)
            next(session for session in reversed(held) if clients[session] == client).give_up()
        self._of.setdefault(place, {})[session] = None  # `leave` may have dropped `held`
        session.place = place

    def leave(self, session: Session) -> None:
        """Free the session's place, if it has one."""
        if session.place is not None:
            held = self._of[session.place]
            del held[session]
            if not held:
                del self._of[session.place]
            session.place = None


class WebcamFactory(ftp.FTPFactory):
    """Builds a Session for each connection."""

    noisy = False
    protocol = Session
    allowAnonymous = False
    welcomeMessage = "UpStage webcam upload"
    timeOut = IDLE_TIME

    def __init__(
        self, check: Check, pictures: Pictures, reactor: Any, ports: Iterable[int], address: str = ""
    ) -> None:
        """Data connections use one of `ports`, at `address` (empty: that of the command connection)."""
        super().__init__()
        self.sessions = Sessions()
        self.check = check
        self.pictures = pictures
        self.reactor = reactor
        self.ports = ports
        self.address = address
