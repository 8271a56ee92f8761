"""Posts with PRAW to the fake. PRAW adds its name to the User-Agent. Arguments: the address and a refresh token."""
import sys

import praw

url, refresh_token = sys.argv[1:]
reddit = praw.Reddit(
    client_id="crier-sandbox",
    client_secret="crier-sandbox-secret",
    user_agent="script:visitor:1 (by /u/ada)",
    refresh_token=refresh_token,
    oauth_url=url,
    reddit_url=url,
    short_url=url,
    check_for_updates=False,
)
me = reddit.user.me()
post = reddit.subreddit("sandbox").submit("From PRAW", selftext="A text")
assert reddit.submission(id=post.id).selftext == "A text"
comment = post.reply("A comment")
assert comment.parent_id == f"t3_{post.id}"
assert [one.body for one in reddit.submission(id=post.id).comments] == ["A comment"]
assert [one.id for one in me.submissions.new(limit=5)] == [post.id]
post.edit("Edited")
flairs = list(reddit.subreddit("flaired").flair.link_templates)
assert reddit.subreddit("flaired").post_requirements()["is_flair_required"]
link = reddit.subreddit("flaired").submit("A link from PRAW", url="https://example.com/", flair_id=flairs[0]["id"])
try:
    reddit.subreddit("closed").submit("Not allowed", selftext="")
    raise AssertionError("a closed subreddit took a post")
except praw.exceptions.RedditAPIException as error:
    assert error.items[0].error_type == "SUBREDDIT_NOTALLOWED"
for thing in (comment, post, link):
    thing.delete()
assert list(me.submissions.new(limit=5)) == []
print("posts, a comment, flairs and requirements")
