// Uses SentencePiece's C++ library on a JVM. For each line, a text in base64, it prints the ids and, in
// base64, their text. At the end, it prints the errors for an invalid id and for bytes that aren't a model.
//
//   java -Djava.library.path=DIR -cp ... Native MODEL.spm < texts

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.stream.Collectors;
import translation.SentencePieceJni;

public final class Native {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        try (SentencePieceJni vocabulary = new SentencePieceJni(Files.readAllBytes(Path.of(arguments[0])))) {
            for (String line; (line = input.readLine()) != null; ) {
                byte[] text = Base64.getDecoder().decode(line);
                int[] ids = vocabulary.encode(new String(text, StandardCharsets.UTF_8));
                String numbers = Arrays.stream(ids).mapToObj(String::valueOf).collect(Collectors.joining(" "));
                byte[] decoded = vocabulary.decode(ids).getBytes(StandardCharsets.UTF_8);
                System.out.println(numbers + ";" + Base64.getEncoder().encodeToString(decoded));
            }
            refused(() -> vocabulary.decode(new int[] {1 << 30}));
        }
        refused(() -> new SentencePieceJni("no model".getBytes(StandardCharsets.UTF_8)).close());
    }

    private static void refused(Runnable action) {
        try {
            action.run();
        } catch (IllegalArgumentException error) {
            System.out.println("refused");
        }
    }
}
