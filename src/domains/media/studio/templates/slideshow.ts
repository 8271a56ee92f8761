import { shadeFor } from './contrast.ts'
import { picture, text, type Template } from './template.ts'

const SECONDS = 4
const FADE_SECONDS = 0.5

export const slideshow: Template = {
  name: 'Slideshow with sound',
  description: 'Pictures one after another, which fade in, with a title on the first one and a sound',
  format: 'mp4',
  pageFormat: 'landscape',
  required: ['pictureAssetIds', 'soundAssetId'],
  hasSound: true,
  optional: ['title', 'pictureSeconds'],
  colors: { backgroundColor: '#000000', textColor: '#ffffff', accentColor: '#000000' },
  build: ({ values }, { accentColor, height, margin, page, textColor, unit, width }) => {
    const { pictureAssetIds = [], pictureSeconds: seconds = SECONDS, title } = values
    const whole = [0, 0, width, height] as const
    const fade = { effect: 'fade', seconds: Math.min(FADE_SECONDS, seconds / 2) } as const
    return pictureAssetIds.map((assetId, index) => ({
      ...page,
      seconds,
      layers: [
        // The one before is below, so that one picture becomes the other.
        ...(index === 0 ? [] : picture(pictureAssetIds[index - 1], whole, { endSeconds: fade.seconds })),
        ...picture(assetId, whole, { enter: fade }),
        ...(index > 0 || title === undefined
          ? []
          : [
              text(title, [margin, height * 0.5, width - 2 * margin, height * 0.5 - margin], {
                fontSize: 90 * unit,
                color: textColor,
                boxColor: shadeFor(textColor, accentColor),
                fontWeight: 'bold',
                verticalAlign: 'bottom',
                enter: { effect: 'slide', seconds: Math.min(0.8, seconds / 2), side: 'left' },
              }),
            ]),
      ],
    }))
  },
}
