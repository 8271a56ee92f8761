"""Sends with pyTelegramBotAPI to the fake. Arguments: the address, the token of a bot, and its chat."""
import sys

# Not this file, which may have the name of a package.
sys.path.pop(0)
import telebot  # noqa: E402
from telebot import apihelper, types  # noqa: E402

url, token, chat = sys.argv[1:]
apihelper.API_URL = url + "/bot{0}/{1}"
bot = telebot.TeleBot(token)
assert bot.get_me().is_bot
html = bot.send_message(chat, '<b>Bold</b> <a href="https://example.com/">link</a>', parse_mode="HTML")
assert [(one.type, one.offset, one.length) for one in html.entities] == [("bold", 0, 4), ("text_link", 5, 4)]
assert html.entities[1].url == "https://example.com/"
picture = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000140000000f00806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
photo = bot.send_photo(chat, picture, caption="<i>A photo</i>", parse_mode="HTML")
assert [(one.width, one.height) for one in photo.photo] == [(90, 68), (320, 240)]
assert photo.caption_entities[0].type == "italic"
assert bot.send_photo(chat, photo.photo[-1].file_id).photo[-1].width == 320
poll = bot.send_poll(chat, "Which?", [types.InputPollOption("Cats"), types.InputPollOption("Dogs")], open_period=600)
assert [one.text for one in poll.poll.options] == ["Cats", "Dogs"]
assert bot.edit_message_text("New", chat, html.message_id).text == "New"
assert bot.delete_message(chat, html.message_id)
try:
    bot.send_message(chat, "<b>Not closed", parse_mode="HTML")
    raise AssertionError("markup that is not closed was taken")
except apihelper.ApiTelegramException as error:
    assert error.error_code == 400
print("entities of HTML, sizes of photos, and a poll")
