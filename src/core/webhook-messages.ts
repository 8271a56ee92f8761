/** The version of the messages. A change that an existing receiver could notice needs another one. */
export const MESSAGE_VERSION = 1

/** The type of the message that a test sends. It is about no event. */
export const TEST_TYPE = 'webhook.test'
