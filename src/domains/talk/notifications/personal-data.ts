import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'notifications.user_id': {
    about: 'Your notifications',
    export: { file: 'notifications', omit: ['actor_ids'] },
    deletion: 'deleted',
  },
  'notification_boxes.user_id': {
    about: 'How often your notifications have changed',
    export: { never: 'It is a counter that orders live updates.' },
    deletion: 'deleted',
  },
  'notification_mails.user_id': {
    about: 'Notifications that wait for a mail',
    export: { never: 'They are in notifications.' },
    deletion: 'deleted',
  },
  'push_devices.user_id': {
    about: 'Your devices for push messages',
    export: { file: 'push-devices', omit: ['subscription_sealed', 'address_digest'] },
    deletion: 'deleted',
  },
  'user_screens.user_id': {
    about: 'What you have on your screen, while you are online',
    export: { never: 'It is forgotten when you leave.' },
    deletion: 'deleted',
  },
} satisfies PersonalData
