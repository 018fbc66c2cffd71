"""A visitor who signs in with a player's account."""

import logging
from argparse import Namespace
from urllib.parse import urlencode

from locust.exception import StopUser

from users import account, checks
from users.player_session import PlayerSession
from users.visitor import StageVisitor

LOGIN = "/admin/login"

log = logging.getLogger(__name__)

rejected: set[str] = set()  # the sign-ins of this run that the server has rejected


class SignedInVisitor(StageVisitor):
    """Joins with the key of a player's account."""

    abstract = True
    session_type = PlayerSession

    @classmethod
    def lack(cls, options: Namespace) -> str | None:
        """Return the reason why there is no account, or None."""
        return account.fill_in(options)

    def on_start(self) -> None:
        super().on_start()
        self.signed_in = False
        # Kept here, because changing the number of users during a run replaces the options.
        self.player, password = self.options.player, self.options.password
        self.form = urlencode({"username": self.player, "password": password}) if password else ""

    def sign_in(self) -> bool:
        """Sign in if necessary; return False if that failed. Raise StopUser without a valid account.

        A wrong password is tried only once, although Locust, while it still starts users, replaces a stopped
        one: after ten wrong passwords the backend locks this address out.
        """
        if not self.form or self.form in rejected:
            raise StopUser
        if self.signed_in:
            return True
        # The form is sent without cookies, as by a program, so the backend requires no token.
        self.client.cookiejar.clear()
        headers = {"Host": self.options.topology, "Content-Type": "application/x-www-form-urlencoded"}
        with self.client.post(
            LOGIN, name=LOGIN, data=self.form, headers=headers, catch_response=True
        ) as response:
            if response.request_meta["exception"]:
                return False  # Locust reports the reason
            status = response.status_code
            self.signed_in = status == 302
            if not self.signed_in:
                response.failure(f"{LOGIN}: status {status}")
        if status == 401:
            rejected.add(self.form)
            log.error("No Player in this run: the server rejects this account and password.")
            raise StopUser
        return self.signed_in

    def read_identity(self, text: str) -> str | None:
        """Require the identity of the account that signed in; otherwise the key is not a player's."""
        fault = super().read_identity(text) or checks.player_fault(self.identity, self.player)
        if fault:
            self.identity = {}
            self.signed_in = False
        return fault
