"""Posts with Mastodon.py to the fake. It sends forms with nested names. Arguments: the address and a token."""
import sys
from datetime import datetime, timedelta, timezone

# Not this file, which has the name of the package.
sys.path.pop(0)
from mastodon import Mastodon, MastodonAPIError  # noqa: E402

url, token = sys.argv[1:]
api = Mastodon(access_token=token, api_base_url=url, version_check_mode="none")
assert api.instance_v2()["configuration"]["polls"]["max_options"] == 4
picture = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
media = api.media_post(picture, mime_type="image/png", description="A dot")
assert (media.type, media.meta.original.width) == ("image", 1)
api.media_update(media, description="One dot")
post = api.status_post("From Mastodon.py", media_ids=[media], sensitive=True, idempotency_key="one")
assert post.media_attachments[0].description == "One dot" and post.sensitive
assert api.status_post("From Mastodon.py", media_ids=[media], idempotency_key="one").id == post.id
reply = api.status_post("A reply", in_reply_to_id=post.id)
assert [one.id for one in api.status_context(post.id).descendants] == [reply.id]
asked = api.status_post("Which?", poll=api.make_poll(["Cats", "Dogs"], 3600, multiple=True))
voted = api.poll_vote(asked.poll, [0, 1])
assert voted.own_votes == [0, 1] and [one.votes_count for one in voted.options] == [1, 1]
try:
    api.status_post("Which?", poll=api.make_poll(["Cats", "x" * 51], 3600))
    raise AssertionError("a long answer was taken")
except MastodonAPIError as error:
    assert error.args[1] == 422
later = datetime.now(timezone.utc) + timedelta(hours=1)
scheduled = api.status_post("Later", scheduled_at=later)
assert [one.id for one in api.scheduled_statuses()] == [scheduled.id]
api.scheduled_status_delete(scheduled)
for status in (asked, reply, post):
    api.status_delete(status)
print("files, a poll with votes, a context and a scheduled status")
