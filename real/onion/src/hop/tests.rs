//! Keys, layers and seals against values that were computed apart from this code: HKDF and GCM
//! written out after RFC 5869 and NIST SP 800-38D in Python, on OpenSSL's AES.

use super::*;

#[track_caller]
fn assert_hex(bytes: &[u8], expected: &str) {
    let byte = |at| u8::from_str_radix(&expected[at..at + 2], 16).unwrap();
    let expected: Vec<u8> = (0..expected.len()).step_by(2).map(byte).collect();
    assert_eq!(bytes, expected);
}

#[test]
fn keys_and_ciphers_are_those_of_the_standards() {
    let mut keys = DirectionKeys::derive(&[1; KEY]);

    let mut cell = [0; CELL_PAYLOAD];
    keys.apply_layer(7, &mut cell);
    assert_hex(&cell[493..], "c34f441404b6d2e99f0c33686df89167");

    let mut cell = [0; CELL_PAYLOAD];
    keys.seal(7, &mut cell);
    assert_hex(&cell[..TAG], "f39337d3c59f1e4c7ec31e755a39d6d4");

    let mut setup = [0; SEALED_SETUP];
    keys.apply_setup_layer(7, &mut setup);
    assert_hex(&setup[488..], "406447e1821dc5f894f6fe33af8e39a6");

    let setup = keys.seal_setup(7, &[0; SETUP_PLAIN]);
    assert_hex(&setup[..TAG], "bfe9d9319f2dd395d37fe32dbb6bd0cd");
}

#[test]
fn a_layer_does_not_depend_on_those_before_it() {
    let mut keys = DirectionKeys::derive(&[1; KEY]);
    for index in [
        0,
        1,
        2,
        2,
        1,
        7,
        8,
        9,
        8,
        u64::MAX - 1,
        u64::MAX,
        u64::MAX,
        0,
    ] {
        let [mut cell, mut alone] = [[0; CELL_PAYLOAD]; 2];
        keys.apply_layer(index, &mut cell);
        DirectionKeys::derive(&[1; KEY]).apply_layer(index, &mut alone);
        assert_eq!(cell, alone, "cell {index}");
    }
}
