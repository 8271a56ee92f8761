const ONE_EMOJI = /^\p{RGI_Emoji}$/v

/** Whether a text is exactly one emoji as Unicode recommends it for interchange (UTS #51), joined sequences included. */
export function isEmoji(text: string): boolean {
  return ONE_EMOJI.test(text)
}
